//! Reads that are not bounded in rows end by the clock, and leave the pool as it was.

use tidings::{db::Db, error::Error};

const ENDLESS: &str = "with recursive number (n) as (select 1 union all select n + 1 from number) select max(n) from number";

#[tokio::test(flavor = "multi_thread")]
async fn a_read_without_end_is_ended_and_harms_no_other() {
    let folder = tempfile::tempdir().unwrap();
    let db = Db::open(folder.path(), Box::new(drop)).unwrap();
    let endless = || db.read_slow(|conn| Ok(conn.query_row(ENDLESS, [], |row| row.get::<_, i64>(0))?));
    let (one, two, quick) =
        tokio::join!(endless(), endless(), db.read_slow(|conn| Ok(conn.query_row("select 7", [], |row| row.get::<_, i64>(0))?)));
    for ended in [one, two] {
        assert!(matches!(ended, Err(Error::Unavailable(_))), "{ended:?}");
    }
    assert_eq!(quick.unwrap(), 7, "it waits for its turn");
    let panicked = db.read_slow(|_| -> tidings::error::Result<()> { panic!("a bug") }).await;
    assert!(matches!(panicked, Err(Error::Internal { .. })));
    // Each connection of the pool, and no clock stands over them any more.
    for _ in 0..20 {
        assert_eq!(db.read(|conn| Ok(conn.query_row("select 7", [], |row| row.get::<_, i64>(0))?)).unwrap(), 7);
    }
    db.close();
}
