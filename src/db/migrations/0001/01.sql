-- The full text is kept in terms that the server makes, and edits reach it in the background.

drop table message_search;
create virtual table message_search using fts5 (content, content = '', contentless_delete = 1,
    tokenize = "ascii tokenchars ' !""#$%&''()*+,-./:;<=>?@[\]^_`{|}~'");
insert into message_search (message_search, rank) values ('automerge', 0);
update meta set value = '0' where key = 'search_cursor';
create table unindexed_edits (
    n integer primary key
) strict;
