//! Answers that may not write.

use tidings::{
    db::{Db, ban_writes, with_write_ban},
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
async fn an_answer_writes_nothing_once_a_cookie_has_admitted_it() {
    let folder = tempfile::tempdir().unwrap();
    let db = database(folder.path(), |_| {});
    ban_writes();
    write(&db).await.unwrap();
    with_write_ban(async {
        write(&db).await.unwrap();
        ban_writes();
        assert_eq!(write(&db).await.unwrap_err().status(), 500);
        assert_eq!(write_in_steps(&db).await.unwrap_err().status(), 500);
    })
    .await;
    write(&db).await.unwrap();
    write_in_steps(&db).await.unwrap();
    db.close();
}
