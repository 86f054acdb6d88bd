//! What the ResourceManager says is offered from then on; devices stay.
//! May touch: the module under test.
//! Must not: need a ResourceManager.

use super::*;

#[test]
fn what_is_said_is_offered_and_told_once() {
    let offer = Offer::new(Resource::new(8192, 8), None);
    let reader = offer.clone();
    let said = Resource::new(4096, 6);
    assert_eq!(offer.replace(said), Some(said));
    assert_eq!(reader.now(), said);
    assert_eq!(offer.replace(said), None);
    assert_eq!(
        offer.replace(Resource::new(-1, 6)),
        Some(Resource::new(0, 6))
    );
}

#[test]
fn devices_are_as_many_as_there_are() {
    let offer = Offer::new(Resource::new(8192, 8).with(2, 4000), Some(2));
    let said = Resource::new(4096, 8).with(2, 9000);
    assert_eq!(offer.replace(said), Some(said.with(2, 4000)));
    let counted = Offer::new(Resource::new(8192, 8).with(2, 4000), None);
    assert_eq!(counted.replace(said), Some(said));
}
