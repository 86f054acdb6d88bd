//! Every limit that holds across crates, in one place, with the relations between them.
//! May touch: constants.
//! Must not: hold anything an administrator can set (that is configuration).

/// Resource lanes: memory-mb, vcores and at most six configured types.
pub const RESOURCE_LANES: usize = 8;
/// Largest RPC frame in bytes (`ipc.maximum.data.length`, Hadoop's default).
pub const FRAME_BYTES_MAX: usize = 128 * 1024 * 1024;
/// Events that may wait for the driver; a full inbox answers "server too busy".
pub const INBOX_LEN_MAX: usize = 65_536;
/// Distinct (size, label) classes of asks that are kept interned.
pub const ASK_CLASSES_MAX: usize = 4_096;
/// Node visits or grants in one scheduling pass before the inbox is served again.
pub const PASS_STEPS_MAX: usize = 512;
/// Longest text a client may store with an application (diagnostics, names, URLs), in bytes.
pub const CLIENT_TEXT_BYTES_MAX: usize = 64 * 1024;
/// Longest diagnostics kept per attempt, in bytes (`yarn.app.attempt.diagnostics.limit.kc` is 64 kilo-characters).
pub const DIAGNOSTICS_BYTES_MAX: usize = 64 * 1024;

const _: () = assert!(CLIENT_TEXT_BYTES_MAX < FRAME_BYTES_MAX);
const _: () = assert!(PASS_STEPS_MAX < INBOX_LEN_MAX);
