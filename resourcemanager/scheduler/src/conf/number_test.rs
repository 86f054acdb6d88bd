//! Java's reading of numbers.
//! May touch: the module under test.
//! Must not: know the scheduler.

use super::*;

#[test]
fn floats_are_read_as_java_reads_them() {
    assert_eq!(float(" 12.5 "), Ok(12.5));
    assert_eq!(float("3f"), Ok(3.0));
    assert_eq!(float("1e2"), Ok(100.0));
    for bad in ["50%", "3w", "", " ", "NaN", "inf", "infinity", "1.2.3", "e"] {
        assert!(float(bad).is_err(), "{bad}");
    }
    assert_eq!(float("50%").unwrap_err(), "For input string: \"50%\"");
}

#[test]
fn whole_numbers_may_be_hexadecimal_and_are_trimmed() {
    assert_eq!(int(" 40 "), Ok(40));
    assert_eq!(int("0x10"), Ok(16));
    assert_eq!(int("-0x1"), Ok(-1));
    assert!(int("4.5").is_err());
    assert!(int("2147483648").is_err());
    assert!(int("0x-1").is_err());
    assert_eq!(long("2147483648"), Ok(2_147_483_648));
}

#[test]
fn a_switch_knows_two_words() {
    assert_eq!(boolean(" TRUE"), Some(true));
    assert_eq!(boolean("false "), Some(false));
    assert_eq!(boolean("yes"), None);
}
