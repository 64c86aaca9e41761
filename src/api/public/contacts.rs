//! The contact form.

use poem::web::Data;
use poem_openapi::{Object, OpenApi};

use crate::{
    api::{
        http::{
            body::{self, Body, Text},
            envelope::{PlainCreated, created_without_data},
            visitor::Visitor,
        },
        tags::Tag,
    },
    domain::{
        public::contacts::{self, Contact},
        text::Email,
    },
    error::Result,
    limits::Form,
    state::App,
};

pub struct Api;

#[OpenApi]
impl Api {
    /// Send a message to the server's administrators
    ///
    /// Needs no account. At most 5 a minute from one address.
    #[oai(path = "/contact", method = "post", operation_id = "createContact", tag = "Tag::Contact")]
    async fn create(&self, visitor: Visitor, app: Data<&App>, body: Body<NewContact, { body::CONTACT }>) -> Result<PlainCreated> {
        app.limits.form(Form::Contact, visitor.address)?;
        let Body(NewContact { name, email, phone_number, message }, bytes) = body;
        let contact = Contact::new(name.0, email.0, phone_number.unwrap_or_default().0, message.0, app.clock.now())?;
        // Parses the markup before the write, to keep the work off the writer thread.
        let mail = app.site.contact_to.as_deref().map(|to| contact.mail(to));
        app.db.write_sized(bytes, move |tx| contacts::create(tx, &contact, mail)).await?;
        Ok(created_without_data("Contact added successfully."))
    }
}

#[derive(Object)]
struct NewContact {
    name: Text<contacts::Name>,
    /// The address to reply to.
    email: Text<Email>,
    phone_number: Option<Text<contacts::PhoneNumber>>,
    /// The server removes markup where it shows the message.
    message: Text<contacts::Content>,
}
