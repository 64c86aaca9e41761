//! A changed profile is told to many organisations.

use tidings::{domain::accounts::profiles, wiring};

use super::{MANY, Scene, left};
use crate::harness::Server;

#[tokio::test]
async fn a_changed_profile_is_pushed_to_all_organisations_of_the_user() {
    let scene = Scene::make("poster", |[.., grace]| {
        format!(
            "insert into organisations (id, name, slug, owner_id, created_at, updated_at)
               select unhex(printf('f8%030x', k)), 'o' || k, 'o' || k, {grace}, 0, 0 from k;
             insert into organisation_members (organisation_id, user_id, role_id, created_at, updated_at)
               select unhex(printf('f8%030x', k)), {grace}, 1, 0, 0 from k;"
        )
    })
    .await;
    let grace = scene.grace;
    let app = scene.open();
    let rename = |name: &str| {
        let edit = profiles::Edit { first_name: Some(name.into()), ..profiles::Edit::default() };
        app.db.write(move |tx| profiles::update(tx, grace, edit).map(|_| ()))
    };
    let told = |name: &str| {
        let told = format!("select distinct stream from events where type = 'member_update' and body like '%\"{name}\"%'");
        format!("select count(*) from ({told})")
    };
    rename("Amazing").await.unwrap();
    assert_eq!((left(&app), scene.number(&told("Amazing"))), (1, 0), "the jobs tell them");
    rename("Brewster").await.unwrap();
    assert_eq!(left(&app), 1, "the later one stands for both");
    wiring::finish_writes(&app);
    drop(app);

    // The jobs of the next start go on with it.
    let copy = Server::on_copy_of(scene.folder.path(), |_| {}).await;
    copy.deferred_work_done().await;
    assert_eq!(copy.number(&told("Brewster")), MANY as i64 + 1);
    assert_eq!(copy.number(&told("Amazing")), 0, "nobody is told what is not so any more");
}
