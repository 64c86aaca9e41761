-- Pictures are looked at: their mean colour is known, and whether they move. Of some, less is kept than was uploaded.
alter table files add column color text check (length(color) = 7);
alter table files add column is_animated integer not null default 0 check (is_animated in (0, 1));
alter table files add column sent_size integer;
