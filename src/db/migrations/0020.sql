-- A webhook may deliver only messages that begin with a word of its own.

alter table webhooks add column trigger_words text not null default '[]';
