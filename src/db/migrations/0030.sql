-- The table of deferred work is called deferred_work.
alter table chores rename to deferred_work;
drop index chores_by_subject;
create index deferred_work_by_subject on deferred_work (kind, organisation_id, user_id, number);
