//! What open savepoints did, to be undone where one is rolled back: a savepoint's end costs what it did
//! itself, however much the transaction holds.

/// Each thing with the level of the savepoint that did it, the deepest last.
pub struct Log<T>(Vec<(i32, T)>);

impl<T> Log<T> {
    /// Nothing.
    pub const EMPTY: Log<T> = Log(Vec::new());

    /// Forgets everything, and keeps the memory.
    pub fn clear(&mut self) {
        self.0.clear();
    }

    /// Notes what was done at that level; what was done in no savepoint needs no undoing.
    pub fn note(&mut self, level: i32, what: impl FnOnce() -> T) {
        if level > 1 {
            self.0.push((level, what()));
        }
    }

    /// What a released savepoint did is its parent's; `each` hears of all of it.
    pub fn reparent(&mut self, level: i32, mut each: impl FnMut(&T)) {
        for (at, what) in self.0.iter_mut().rev().take_while(|(at, _)| *at >= level) {
            *at = level - 1;
            each(what);
        }
        if level <= 2 {
            self.0.clear();
        }
    }

    /// The next thing to be undone of a savepoint that was rolled back, the last one first.
    pub fn undo(&mut self, level: i32) -> Option<T> {
        self.0.pop_if(|(at, _)| *at >= level).map(|(_, what)| what)
    }
}
