//! Documents of clients that a test puts where it wants.

use std::collections::HashMap;
use std::sync::Mutex;

use gongfu_core::port::{ClientDocuments, Pending, PortError, ready};

/// Documents by their URLs.
#[derive(Debug, Default)]
pub struct FakeClientDocuments {
    documents: Mutex<HashMap<String, Vec<u8>>>,
    fetched: Mutex<Vec<String>>,
}

impl FakeClientDocuments {
    /// Puts a document at a URL.
    pub fn put(&self, url: &str, document: impl Into<Vec<u8>>) {
        let mut documents = self.documents.lock().unwrap();
        documents.insert(url.to_owned(), document.into());
    }

    /// The URLs that were asked for since the last question.
    pub fn take_fetched(&self) -> Vec<String> {
        std::mem::take(&mut self.fetched.lock().unwrap())
    }
}

impl ClientDocuments for FakeClientDocuments {
    fn fetch<'a>(&'a self, url: &'a str) -> Pending<'a, Vec<u8>> {
        self.fetched.lock().unwrap().push(url.to_owned());
        let found = self.documents.lock().unwrap().get(url).cloned();
        ready(found.ok_or_else(|| PortError::Denied("nothing is there".to_owned())))
    }
}
