//! Records wait for the store, in order.
//! May touch: the tested module.
//! Must not: know records.

use yarn_types::ApplicationId;

use super::{After, StoreQueue};

#[test]
fn what_is_allowed_comes_in_order_and_only_once_it_lasts() {
    let app = |id| {
        After::AppSaved(ApplicationId {
            cluster_timestamp: 1,
            id,
        })
    };
    let mut store = StoreQueue::default();
    assert_eq!(
        (store.push(app(1)), store.push(app(2)), store.push(app(3))),
        (1, 2, 3)
    );
    assert_eq!(store.take_stored(), None);
    store.stored(2);
    assert_eq!(store.unless_stored(2), None);
    assert_eq!(store.unless_stored(3), Some(3));
    assert_eq!(store.take_stored(), Some(app(1)));
    assert_eq!(store.take_stored(), Some(app(2)));
    assert_eq!(store.take_stored(), None);
    store.stored(1); // late news
    store.stored(99); // a number never given
    assert_eq!(store.take_stored(), Some(app(3)));
    assert_eq!(store.push(app(4)), 4);
    assert_eq!(
        store.take_stored(),
        None,
        "record 4 is not stored by an earlier 99"
    );
}
