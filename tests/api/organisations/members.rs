//! Members of an organisation: adding, listing, counting.

use serde_json::{Value, json};
use tidings::error::Code;

use crate::{
    harness::{Client, DAY, Server, blob, text, unknown_id},
    shapes::{MEMBER, METRICS, PAGINATION, assert_shape},
};

fn users(organisation: &str) -> String {
    format!("/organisations/{organisation}/users")
}

async fn list(client: &Client, organisation: &str, query: &str) -> Value {
    client.get(&format!("{}{query}", users(organisation))).await.expect(200)
}

fn emails(list: &Value) -> Vec<String> {
    list["data"].as_array().unwrap().iter().map(|member| text(&member["email"])).collect()
}

#[tokio::test]
async fn a_superadmin_adds_a_user() {
    let server = Server::start().await;
    let (ada, root, bob) = (server.user("ada").await, server.superadmin("root").await, server.user("bob").await);
    let organisation = ada.organisation("Engines").await;
    bob.get(&format!("/organisations/{organisation}")).await.expect(404);

    let reply = root.post(&users(&organisation), json!({ "user_id": bob.user_id })).await.expect(200);
    assert_eq!([&reply["status"], &reply["message"]], ["success", "User added successfully"]);

    assert_eq!(bob.get(&format!("/organisations/{organisation}")).await.expect(200)["data"]["org_role"], "member");
    bob.say(&ada.general(&organisation).await, "hello").await;
}

#[tokio::test]
async fn a_role_is_named_by_number_uuid_or_word() {
    let server = Server::start().await;
    let (ada, root) = (server.user("ada").await, server.superadmin("root").await);
    let organisation = ada.organisation("Engines").await;
    let cases = [
        ("a", json!(2), "manager"),
        ("b", json!("guest"), "guest"),
        ("c", json!("user"), "member"),
        ("d", json!("administrator"), "admin"),
        ("e", json!("01900000-0000-7000-8000-000000000003"), "project-lead"),
        ("g", json!("Project Lead"), "project-lead"),
        ("h", json!("PROJECT-LEAD"), "project-lead"),
    ];
    for (name, role, expected) in cases {
        let user = server.user(name).await;
        root.post(&users(&organisation), json!({ "user_id": user.user_id, "role_Id": role })).await.expect(200);
        assert_eq!(user.get("/users/organisations").await.expect(200)["data"][0]["org_role"], expected);
    }
    let user = server.user("f").await;
    for role in [json!("king"), json!(99), json!(unknown_id()), json!(true), json!("")] {
        root.post(&users(&organisation), json!({ "user_id": user.user_id, "role_Id": role })).await.expect(400);
    }
}

#[tokio::test]
async fn adding_a_user_to_an_organisation_fails_as_documented() {
    let server = Server::start().await;
    let (ada, grace, organisation) = server.ada_and_grace().await;
    let (root, bob) = (server.superadmin("root").await, server.user("bob").await);
    let body = json!({ "user_id": bob.user_id });
    server.anonymous().post(&users(&organisation), body.clone()).await.expect(401);
    for member in [&ada, &grace] {
        member.post(&users(&organisation), body.clone()).await.expect(403);
    }
    let foreign = bob.post(&users(&organisation), body.clone()).await.expect(403);
    assert_eq!(foreign, ada.post(&users(&unknown_id()), body.clone()).await.expect(403));
    root.post(&users(&unknown_id()), body.clone()).await.expect(404);
    root.post(&users(&organisation), json!({ "user_id": unknown_id() })).await.expect(404);
    root.post(&users(&organisation), json!({ "user_id": grace.user_id })).await.refused(400, Code::AlreadyAMember);
    root.post(&users("no-uuid"), body).await.expect(400);
    for body in [json!({}), json!({ "user_id": "no-uuid" }), json!({ "user_id": 7 }), json!({ "user_id": null })] {
        root.post(&users(&organisation), body).await.expect(400);
    }
    root.call_text("POST", &users(&organisation), "{").await.expect(400);
    assert_eq!(emails(&list(&ada, &organisation, "").await).len(), 2);
}

#[tokio::test]
async fn members_list_the_members_newest_first() {
    let server = Server::start().await;
    let (ada, grace, organisation) = server.ada_and_grace().await;
    let guest = server.member(&ada, &organisation, "guest", "guest").await;
    for member in [&ada, &grace, &guest] {
        let list = list(member, &organisation, "").await;
        assert_eq!(list["message"], "Users retrieved successfully");
        assert_eq!(emails(&list), [&guest.email, &grace.email, &ada.email].map(String::as_str));
        list["data"].as_array().unwrap().iter().for_each(|member| assert_shape(member, MEMBER));
        assert_shape(&list["pagination"], PAGINATION);
        let pagination = json!({ "current_page": 1, "page_size": 20, "total_items": 3, "total_pages": 1 });
        assert_eq!(list["pagination"], pagination);
    }
    let list = list(&ada, &organisation, "").await;
    let roles: Vec<_> = (0..3).map(|n| text(&list["data"][n]["role_key"])).collect();
    assert_eq!(roles, ["guest", "member", "admin"]);
    assert_eq!(list["data"][0]["id"], guest.user_id);
}

#[tokio::test]
async fn a_listed_member_has_a_picture_and_the_time_of_joining() {
    let server = Server::start().await;
    let ada = server.user("ada").await;
    let organisation = ada.organisation("Engines").await;
    server.clock.advance(DAY);
    let grace = server.member(&ada, &organisation, "grace", "member").await;
    let picture = "https://example.org/grace.png";
    grace.patch("/profile", json!({ "avatar_url": picture })).await.expect(200);
    let list = list(&ada, &organisation, "").await["data"].take();
    assert_eq!([&list[0]["profile_url"], &list[1]["profile_url"]], [picture, ""]);
    let joined = |n: usize| text(&list[n]["created_at"]).parse::<jiff::Timestamp>().unwrap();
    let apart = joined(0).duration_since(joined(1)).as_secs();
    assert!(apart.abs_diff(DAY.as_secs() as i64) < 60, "joined {apart} s apart");
}

#[tokio::test]
async fn a_members_name_is_the_full_name_or_else_the_username() {
    let server = Server::start().await;
    let (ada, _, organisation) = server.ada_and_grace().await;
    assert_eq!(list(&ada, &organisation, "").await["data"][0]["name"], "grace");
    server.sql("update users set first_name = 'Grace', last_name = 'Hopper' where username = 'grace'");
    assert_eq!(list(&ada, &organisation, "").await["data"][0]["name"], "Grace Hopper");
}

#[tokio::test]
async fn members_in_all_statuses_are_listed() {
    let server = Server::start().await;
    let (ada, grace, organisation) = server.ada_and_grace().await;
    server.sql(&format!("update organisation_members set status = 'deactivated' where user_id = {}", blob(&grace.user_id)));
    let list = list(&ada, &organisation, "").await;
    assert_eq!([&list["data"][0]["status"], &list["data"][1]["status"]], ["deactivated", "active"]);
    assert_eq!(list["pagination"]["total_items"], 2);
}

#[tokio::test]
async fn members_are_listed_in_pages() {
    let server = Server::start().await;
    let (ada, grace, organisation) = server.ada_and_grace().await;
    for query in ["?page=2&page_size=1", "?page=2&limit=1"] {
        let page = list(&ada, &organisation, query).await;
        assert_eq!(emails(&page), [ada.email.as_str()]);
        let pagination = json!({ "current_page": 2, "page_size": 1, "total_items": 2, "total_pages": 2 });
        assert_eq!(page["pagination"], pagination);
    }
    assert_eq!(emails(&list(&ada, &organisation, "?page_size=1").await), [grace.email.as_str()]);
    let beyond = list(&ada, &organisation, "?page=9&page_size=1").await;
    assert_eq!((emails(&beyond).len(), &beyond["pagination"]["total_items"]), (0, &json!(2)));
    let cut = list(&ada, &organisation, "?page_size=1000000").await;
    assert!(cut["pagination"]["page_size"].as_u64().unwrap() < 1_000_000, "{}", cut["pagination"]);
    for query in ["?page=0", "?page_size=0", "?limit=0", "?page=x", "?page_size=-1", "?page=1.5", "?page=99999999999"] {
        ada.get(&format!("{}{query}", users(&organisation))).await.expect(400);
    }
}

#[tokio::test]
async fn an_outsider_does_not_list_members() {
    let server = Server::start().await;
    let (ada, _, organisation) = server.ada_and_grace().await;
    let outsider = server.user("outsider").await;
    let foreign = outsider.get(&users(&organisation)).await.expect(403);
    assert_eq!(foreign, ada.get(&users(&unknown_id())).await.expect(403));
    ada.get(&users("no-uuid")).await.expect(400);
    let refused = server.anonymous().get(&users(&organisation)).await.expect(401);
    assert!(refused["errors"].is_array() && refused["error"].is_null(), "{refused}");
}

async fn metrics(client: &Client, organisation: &str, query: &str) -> Value {
    let data =
        client.get(&format!("/organisations/{organisation}/metrics{query}")).await.data(200, "Metrics fetched successfully");
    assert_shape(&data, METRICS);
    data
}

#[tokio::test]
async fn metrics_count_members_who_were_seen_lately() {
    let server = Server::start().await;
    let (ada, grace, organisation) = server.ada_and_grace().await;
    let bob = server.member(&ada, &organisation, "bob", "guest").await;
    let all_here = json!({ "active_count": 3, "inactive_count": 0, "total_members": 3 });
    for (client, query) in [(&ada, ""), (&grace, "?days=7"), (&bob, "?days=365"), (&ada, "?days=1")] {
        assert_eq!(metrics(client, &organisation, query).await, all_here);
    }
    ada.put(&format!("{}/{}", users(&organisation), bob.user_id), json!({ "status": "inactive" })).await.expect(200);
    let data = metrics(&ada, &organisation, "").await;
    assert_eq!(data, json!({ "active_count": 2, "inactive_count": 1, "total_members": 3 }));
}

#[tokio::test]
async fn metrics_reach_back_as_far_as_asked() {
    let server = Server::start().await;
    let (ada, _, organisation) = server.ada_and_grace().await;
    // A restart writes what is gathered in memory.
    let server = server.restart().await;
    server.clock.advance(DAY * 21);
    for (query, active) in [("", 1), ("?days=20", 1), ("?days=22", 2)] {
        assert_eq!(metrics(&ada, &organisation, query).await["active_count"], active, "{query}");
    }
}

#[tokio::test]
async fn metrics_fail_as_documented() {
    let server = Server::start().await;
    let (ada, _, organisation) = server.ada_and_grace().await;
    let path = format!("/organisations/{organisation}/metrics");
    for days in ["0", "366", "-1", "x", "1.5", ""] {
        ada.get(&format!("{path}?days={days}")).await.expect(400);
    }
    ada.get("/organisations/no-uuid/metrics").await.expect(400);
    server.anonymous().get(&path).await.expect(401);
    let outsider = server.user("outsider").await;
    let foreign = outsider.get(&path).await.expect(403);
    assert_eq!(foreign, ada.get(&format!("/organisations/{}/metrics", unknown_id())).await.expect(403));
}

#[tokio::test]
async fn members_are_found_by_parts_of_their_names_and_addresses_and_by_their_role() {
    let server = Server::start().await;
    let (ada, grace, organisation) = server.ada_and_grace().await;
    let guest = server.member(&ada, &organisation, "visitor", "guest").await;
    let other = server.user("other").await;
    other.organisation("Elsewhere").await;
    let name = async |client: &Client, first: &str, last: &str| {
        client.patch("/profile", json!({ "first_name": first, "last_name": last })).await.expect(200);
    };
    name(&ada, "Ada", "Lovelace").await;
    name(&grace, "Gräce", "Hopper").await;
    let found = async |client: &Client, query: &str| {
        let list = list(client, &organisation, query).await;
        list["data"].as_array().unwrap().iter().for_each(|member| assert_shape(member, MEMBER));
        assert_eq!(list["pagination"]["total_items"], list["data"].as_array().unwrap().len());
        emails(&list).iter().map(|email| email.split('@').next().unwrap().to_owned()).collect::<Vec<_>>().join(" ")
    };
    for (query, expected) in [
        ("?search=lovelace", "ada"),
        ("?search=LACE", "ada"),
        ("?search=gr%C3%84", "grace"),
        ("?search=ada+love", "ada"),
        ("?search=love+ada", "ada"),
        ("?search=visitor%40exam", "visitor"),
        ("?search=example.org", "visitor grace ada"),
        ("?search=other", ""),
        ("?search=ada+hopper", ""),
        ("?q=ADA", "ada"),
        ("?q=love", "ada"),
        ("?q=lo+ad", "ada"),
        ("?q=lace", ""),
        ("?q=gr%C3%84", "grace"),
        ("?q=example", ""),
        ("?q=visitor%40exam", "visitor"),
        ("?search=%25", ""),
        ("?search=", "visitor grace ada"),
        ("?search=+", "visitor grace ada"),
        ("?role=guest", "visitor"),
        ("?role=GUEST", "visitor"),
        ("?role=5", "visitor"),
        ("?role=01900000-0000-7000-8000-000000000005", "visitor"),
        ("?role=Administrator", "ada"),
        ("?role=Project+Lead", ""),
        ("?role=user&search=e", "grace"),
        ("?role=user&search=visitor", ""),
    ] {
        assert_eq!(found(&guest, query).await, expected, "{query}");
    }
    for (query, status) in [("?role=king", 400), ("?role=99", 400), ("?search=a%0Ab", 400)] {
        ada.get(&format!("{}{query}", users(&organisation))).await.expect(status);
    }
    let longest = "x".repeat(256);
    assert_eq!(found(&ada, &format!("?search={longest}")).await, "");
    ada.get(&format!("{}?search={longest}x", users(&organisation))).await.expect(400);
    other.get(&format!("{}?search=ada&role=king", users(&organisation))).await.expect(403);
}

#[tokio::test]
async fn members_that_were_searched_for_come_in_pages() {
    let server = Server::start().await;
    let (ada, _, organisation) = server.ada_and_grace().await;
    server.member(&ada, &organisation, "bob", "guest").await;
    let mut found = Vec::new();
    for page in 1..=4 {
        let list = list(&ada, &organisation, &format!("?search=example&page_size=1&page={page}")).await;
        assert_eq!(list["pagination"], json!({ "current_page": page, "page_size": 1, "total_items": 3, "total_pages": 3 }));
        found.extend(emails(&list));
    }
    assert_eq!(found, ["bob@example.org", "grace@example.org", "ada@example.org"]);
    let reply = ada.get(&format!("{}?search=example&limit=2", users(&organisation))).await;
    let next = format!("{}/api/v1{}?search=example&limit=2&offset=2", server.origin, users(&organisation));
    assert_eq!(reply.headers["link"], format!("<{next}>; rel=\"next\""));
    reply.expect(200);
}

#[tokio::test]
async fn members_are_read_by_their_identifiers_after_they_have_left_and_strangers_are_not() {
    let server = Server::start().await;
    let (ada, grace, organisation) = server.ada_and_grace().await;
    let stranger = server.user("stranger").await;
    grace.patch("/profile", json!({ "first_name": "Grace", "last_name": "Hopper", "phone": "7" })).await.expect(200);
    let path = |ids: &[&str]| format!("{}?ids={}", users(&organisation), ids.join(","));
    let asked = path(&[&grace.user_id, &stranger.user_id, &ada.user_id, &unknown_id()]);
    let both = ada.get(&asked).await.expect(200);
    assert_eq!(emails(&both), ["grace@example.org", "ada@example.org"], "in the order that was asked for");
    assert_eq!([&both["data"][0]["status"], &both["data"][0]["role_id"]], [&json!("active"), &json!(4)]);

    ada.delete(&format!("{}/{}", users(&organisation), grace.user_id)).await.expect(200);
    let left = ada.get(&asked).await.expect(200);
    assert_eq!(emails(&left), ["grace@example.org", "ada@example.org"]);
    let former = &left["data"][0];
    assert_eq!([&former["name"], &former["username"], &former["status"]], ["Grace Hopper", "grace", "removed"]);
    assert_eq!([&former["role_id"], &former["role"], &former["role_key"]], [&json!(null), &json!(""), &json!("")]);
    assert_eq!(former["phone_number"], "");
    assert_eq!(left["pagination"]["total_items"], 2);
    let back = ada.invite(&organisation, "grace@example.org", "guest").await;
    grace.post("/invite/verify", json!({ "token": back })).await.expect(200);
    assert_eq!(ada.get(&asked).await.expect(200)["data"][0]["role_id"], 5);

    // At the bound and one past it.
    let mut hundred = vec![&*ada.user_id; 100];
    assert_eq!(ada.get(&path(&hundred)).await.expect(200)["data"].as_array().unwrap().len(), 100);
    hundred.push(&ada.user_id);
    ada.get(&path(&hundred)).await.expect(400);
    stranger.get(&path(&[&ada.user_id])).await.expect(403);
    server.anonymous().get(&path(&[&ada.user_id])).await.expect(401);
}

#[tokio::test]
async fn the_members_of_a_channel_are_found_by_name() {
    let server = Server::start().await;
    let (ada, grace, organisation) = server.ada_and_grace().await;
    let guest = server.member(&ada, &organisation, "gus", "guest").await;
    server.member(&ada, &organisation, "greta", "member").await;
    let news = ada.channel(&organisation, "news", &[&grace]).await;
    let of = |q: &str| format!("{}?channel_id={news}{q}", users(&organisation));
    assert_eq!(emails(&ada.get(&of("")).await.expect(200)), ["grace@example.org", "ada@example.org"]);
    assert_eq!(emails(&ada.get(&of("&q=g")).await.expect(200)), ["grace@example.org"]);
    let everybody = ada.get(&format!("{}?q=g&limit=2", users(&organisation))).await.expect(200);
    assert_eq!(emails(&everybody), ["grace@example.org", "greta@example.org"], "by name");
    assert_eq!(everybody["pagination"]["total_items"], 3);
    let hidden = guest.get(&of("")).await.expect(403);
    let unknown = guest.get(&format!("{}?channel_id={}", users(&organisation), unknown_id())).await.expect(403);
    assert_eq!(hidden, unknown, "a guest is not told of a channel that they are not in");
    ada.patch("/profile", json!({ "username": "gloria" })).await.expect(200);
    assert_eq!(emails(&ada.get(&of("&q=glo")).await.expect(200)), ["ada@example.org"], "at once");
}

#[tokio::test]
async fn members_from_before_names_were_written_are_found_after_the_next_start() {
    let server = Server::start().await;
    let ada = server.user("ada").await;
    let organisation = ada.organisation("Engines").await;
    server.sql("update organisation_members set names = ''");
    server.sql("delete from meta where key = 'member_names'");
    let path = format!("{}?q=ad", users(&organisation));
    assert_eq!(emails(&ada.get(&path).await.expect(200)), [""; 0]);
    let server = server.restart().await;
    let ada = server.log_in("ada", "correct horse battery").await;
    assert_eq!(emails(&ada.get(&path).await.expect(200)), ["ada@example.org"]);
}
