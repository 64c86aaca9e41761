//! What a request may write.

use tidings::{
    db::{Db, ban_writes, for_request, held_to_floor, lift_floor},
    error::Result,
};

use crate::harness::database;

async fn write(db: &Db) -> Result<()> {
    db.write(|tx| tx.execute("update meta set value = value", []).map(drop).map_err(Into::into)).await
}

async fn write_in_steps(db: &Db) -> Result<()> {
    db.write_in_steps(|_| Ok(Some(()))).await
}

#[tokio::test]
async fn a_request_writes_nothing_once_a_cookie_has_admitted_it() {
    let folder = tempfile::tempdir().unwrap();
    let db = database(folder.path(), |_| {});
    ban_writes();
    write(&db).await.unwrap();
    held_to_floor(async {
        write(&db).await.unwrap();
        ban_writes();
        lift_floor();
        assert_eq!(write(&db).await.unwrap_err().status(), 500);
        assert_eq!(write_in_steps(&db).await.unwrap_err().status(), 500);
        let outlives = for_request(async move { (write(&db).await.unwrap_err().status(), db) });
        let (status, db) = tokio::spawn(outlives).await.unwrap();
        assert_eq!(status, 500);
        db.close();
    })
    .await;
    let db = database(folder.path(), |_| {});
    write(&db).await.unwrap();
    write_in_steps(&db).await.unwrap();
    db.close();
}
