//! The tournament gives what a sort would give.
//! May touch: the module under test.
//! Must not: use a random source other than its seed.

use super::*;

impl Rank for i32 {
    fn before(&self, other: &Self) -> bool {
        self < other
    }
}

#[test]
fn it_takes_in_the_order_of_a_stable_sort_and_passes_over_what_is_not_wanted() {
    let mut state = 1_u64;
    let mut roll = move |sides: u64| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        (state >> 33) % sides
    };
    for round in 1..200_u64 {
        let mut contest = Contest::default();
        let mut seats = vec![(0, 0, 0); 37];
        for _ in 0..120 {
            let seat = u32::try_from(roll(37)).unwrap();
            let key = i32::try_from(roll(9)).unwrap();
            let (kinds, user) = (roll(8), 1 << roll(3));
            seats[seat as usize] = (key, kinds, user);
            let entry = Seat {
                key,
                owner: seat + 100,
                kinds,
                user,
            };
            contest.set(seat, (kinds != 0).then_some(entry));
        }
        let wanted = Wanted {
            kinds: 1 + roll(7),
            blocked_users: roll(8),
            walk: round,
        };
        let mut expected: Vec<(i32, u32)> = (0..37)
            .filter(|s| seats[*s as usize].1 & wanted.kinds != 0)
            .filter(|s| seats[*s as usize].2 & !wanted.blocked_users != 0)
            .map(|s| (seats[s as usize].0, s + 100))
            .collect();
        expected.sort_unstable();
        let taken: Vec<u32> = std::iter::from_fn(|| contest.take(wanted)).collect();
        contest.show();
        assert_eq!(taken, expected.iter().map(|(_, s)| *s).collect::<Vec<_>>());
        assert_eq!(contest.kinds(), seats.iter().fold(0, |all, s| all | s.1));
    }
}
