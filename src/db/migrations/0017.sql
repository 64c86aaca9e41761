-- Webhooks may demand that programs prove who they are.

alter table webhooks add column sender_secret blob;
