-- Pictures of people, bots and organisations.
create table faces (
    id    blob primary key check (length(id) = 16), -- random, in the address: nobody guesses it, and it changes with the picture
    owner blob not null unique,                     -- a user, a bot or an organisation
    small blob not null,                            -- JPEG or PNG, 64 pixels a side
    large blob not null                             -- 256 pixels
) strict;
