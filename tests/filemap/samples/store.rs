//! Keeps things.
use std::collections::HashMap;
use crate::{error::Error, Result};

pub const LIMIT: usize = 16;
static mut COUNT: u32 = 0;

/// A place for things.
#[derive(Debug, Clone)]
pub struct Store<K, V> {
    items: HashMap<K, V>,
    pub(crate) size: usize,
}

pub enum Event {
    Added { key: String },
    Removed(u32),
    Cleared,
}

pub trait Keep {
    type Key;
    const MAX: usize;
    fn keep(&mut self, key: Self::Key) -> bool;
    fn empty(&self) -> bool {
        true
    }
}

impl<K, V> Store<K, V>
where
    K: Eq,
{
    pub async fn open(path: &str) -> Result<Self> {
        fn inner() {}
        todo!()
    }
}

impl<K, V> Keep for Store<K, V> {
    type Key = K;
    const MAX: usize = 3;
    fn keep(&mut self, key: K) -> bool {
        false
    }
}

macro_rules! square {
    ($x:expr) => {
        $x * $x
    };
}

type Shared = std::sync::Arc<Event>;

extern "C" {
    fn getpid() -> i32;
}

mod tests {
    use super::*;

    #[test]
    fn keeps() {}
}
