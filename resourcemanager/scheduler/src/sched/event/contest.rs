//! A tournament among the children of a queue or the applications of a leaf: the first in order
//! that has something to try, with one path replayed per change.
//! May touch: its own arrays.
//! Must not: know what its entries are.

/// How the entries of a contest compare.
pub(super) trait Rank: Copy {
    /// Whether `self` comes before `other`.
    fn before(&self, other: &Self) -> bool;
}

/// Something that takes part.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Seat<K> {
    pub key: K,
    pub owner: u32,
    /// Kinds of asks that it has, never none.
    pub kinds: u64,
    /// Bit of its user, 0 where that does not matter.
    pub user: u64,
}

/// The best of a part of the seats, and what is there in all.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
struct Round {
    winner: u32,
    kinds: u64,
    users: u64,
}

/// The contest. Seats are given out by the caller and stay the same until [`Contest::clear`].
#[derive(Clone, Debug)]
pub(super) struct Contest<K> {
    seats: Vec<Option<Seat<K>>>,
    /// Seen on the walk in progress, by seat.
    is_hidden: Vec<bool>,
    /// Implicit tree: round 1 is the final, round `n` is between `2n` and `2n + 1`.
    rounds: Vec<Round>,
    /// Number of the last walk, and the seat that it took last.
    walk: u64,
    last: Option<u32>,
    hidden: Vec<u32>,
}

/// What a search takes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Wanted {
    /// Kinds of asks that are worth a try.
    pub kinds: u64,
    /// Users to pass over, by their bits.
    pub blocked_users: u64,
    /// Number of the walk: a seat is taken once on it.
    pub walk: u64,
}

impl<K> Default for Contest<K> {
    fn default() -> Self {
        Self {
            seats: Vec::new(),
            is_hidden: Vec::new(),
            rounds: Vec::new(),
            walk: 0,
            last: None,
            hidden: Vec::new(),
        }
    }
}

impl<K: Rank + PartialEq> Contest<K> {
    /// Bytes of one seat.
    pub const SEAT_BYTES: usize = size_of::<Option<Seat<K>>>() + size_of::<Round>() + 1;

    /// Kinds of asks that anybody here has.
    pub fn kinds(&self) -> u64 {
        self.rounds.get(1).map_or(0, |round| round.kinds)
    }

    /// Sets who is on a seat; its way to the final is played again.
    pub fn set(&mut self, seat: u32, entry: Option<Seat<K>>) {
        if self.put(seat, entry) {
            self.replay(seat as usize);
        }
    }

    /// Sets who is on a seat without playing; true where that changes something. Then
    /// [`Self::play_all`] is due.
    pub fn put(&mut self, seat: u32, entry: Option<Seat<K>>) -> bool {
        let at = seat as usize;
        if at >= self.seats.len() {
            if entry.is_none() {
                return false;
            }
            self.grow(at + 1);
        }
        let is_new = self.seats[at] != entry;
        self.seats[at] = entry;
        is_new
    }

    /// Makes room for at least `seats` and plays everything again.
    fn grow(&mut self, seats: usize) {
        let size = seats.next_power_of_two().max(4);
        self.seats.resize(size, None);
        self.is_hidden.resize(size, false);
        self.rounds = vec![Round::default(); size];
        self.play_all();
    }

    /// Plays everything again.
    pub fn play_all(&mut self) {
        for at in (1..self.seats.len()).rev() {
            self.rounds[at] = self.play(at);
        }
    }

    fn replay(&mut self, seat: usize) {
        let mut at = self.seats.len() + seat;
        while at > 1 {
            at /= 2;
            let round = self.play(at);
            // above, nothing changes but where the seat wins, whose key may be another
            if round == self.rounds[at] && round.winner as usize != seat {
                return;
            }
            self.rounds[at] = round;
        }
    }

    fn play(&self, at: usize) -> Round {
        let (a, b) = (self.side(2 * at), self.side(2 * at + 1));
        let winner = match (a.kinds, b.kinds) {
            (_, 0) => a.winner,
            (0, _) => b.winner,
            _ if self.is_before(b.winner, a.winner) => b.winner,
            _ => a.winner,
        };
        Round {
            winner,
            kinds: a.kinds | b.kinds,
            users: a.users | b.users,
        }
    }

    /// A round, or a seat as a round of its own.
    fn side(&self, at: usize) -> Round {
        if at < self.seats.len() {
            return self.rounds[at];
        }
        let seat = at - self.seats.len();
        let shown = self.seats[seat].as_ref().filter(|_| !self.is_hidden[seat]);
        shown.map_or_else(Round::default, |s| Round {
            winner: u32::try_from(seat).unwrap_or(u32::MAX),
            kinds: s.kinds,
            users: s.user,
        })
    }

    /// Ties go to the smaller seat.
    fn is_before(&self, a: u32, b: u32) -> bool {
        match (&self.seats[a as usize], &self.seats[b as usize]) {
            (Some(sa), Some(sb)) => sa.key.before(&sb.key) || (a < b && !sb.key.before(&sa.key)),
            (sa, _) => sa.is_some(),
        }
    }

    /// The owner of the first in order that is wanted and that this walk did not take yet.
    pub fn take(&mut self, wanted: Wanted) -> Option<u32> {
        if self.seats.is_empty() {
            return None;
        }
        let same = std::mem::replace(&mut self.walk, wanted.walk) == wanted.walk;
        if let Some(last) = self.last.take().filter(|_| same) {
            self.hide(last);
        }
        let seat = self.search(1, wanted)?;
        self.last = Some(seat);
        self.seats[seat as usize].as_ref().map(|s| s.owner)
    }

    fn hide(&mut self, seat: u32) {
        if self.seats[seat as usize].is_some() {
            self.is_hidden[seat as usize] = true;
            self.hidden.push(seat);
            self.replay(seat as usize);
        }
    }

    /// The walk left something out that must be put back by [`Self::show`].
    pub fn has_hidden(&self) -> bool {
        !self.hidden.is_empty()
    }

    /// The walk is over: everything takes part again.
    pub fn show(&mut self) {
        let many = self.hidden.len() * 4 > self.seats.len();
        while let Some(seat) = self.hidden.pop() {
            self.is_hidden[seat as usize] = false;
            if !many {
                self.replay(seat as usize);
            }
        }
        if many {
            self.play_all();
        }
    }

    fn search(&self, at: usize, wanted: Wanted) -> Option<u32> {
        let round = self.side(at);
        if round.kinds & wanted.kinds == 0
            || (round.users != 0 && round.users & !wanted.blocked_users == 0)
        {
            return None;
        }
        let winner = round.winner as usize;
        let fits = |s: &Seat<K>| {
            s.kinds & wanted.kinds != 0
                && !self.is_hidden[winner]
                && (s.user == 0 || s.user & !wanted.blocked_users != 0)
        };
        if self.seats[winner].as_ref().is_some_and(fits) {
            return Some(round.winner);
        }
        if at >= self.seats.len() {
            return None;
        }
        match (self.search(2 * at, wanted), self.search(2 * at + 1, wanted)) {
            (Some(a), Some(b)) => Some(if self.is_before(b, a) { b } else { a }),
            (a, b) => a.or(b),
        }
    }
}

#[cfg(test)]
#[path = "contest_test.rs"]
mod tests;
