-- The calls of a program end where its address changes.
create index calls_by_program on calls (program);
