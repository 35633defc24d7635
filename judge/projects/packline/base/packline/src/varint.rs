//! Numbers in groups of seven bits, low groups first.

use crate::Error;

pub fn write(out: &mut Vec<u8>, mut n: u64) {
    while n >= 0x80 {
        out.push(n as u8 | 0x80);
        n >>= 7;
    }
    out.push(n as u8);
}

/// Returns the number and what follows it.
pub fn read(bytes: &[u8]) -> Result<(u64, &[u8]), Error> {
    let mut n = 0u64;
    for (i, byte) in bytes.iter().enumerate() {
        if i > 9 || (i == 9 && *byte > 1) {
            return Err(Error::Long);
        }
        n |= u64::from(byte & 0x7f) << (7 * i);
        if byte & 0x80 == 0 {
            return Ok((n, &bytes[i + 1..]));
        }
    }
    Err(Error::Short)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_of_a_group() {
        for (n, want) in [(0, vec![0]), (127, vec![127]), (128, vec![128, 1]), (300, vec![172, 2])] {
            let mut out = Vec::new();
            write(&mut out, n);
            assert_eq!(out, want, "{n}");
            assert_eq!(read(&out), Ok((n, &[][..])), "{n}");
        }
    }

    #[test]
    fn the_largest() {
        let mut out = Vec::new();
        write(&mut out, u64::MAX);
        assert_eq!(out.len(), 10);
        assert_eq!(read(&out), Ok((u64::MAX, &[][..])));
    }

    #[test]
    fn too_long() {
        assert_eq!(read(&[0xff; 11]), Err(Error::Long));
        assert_eq!(
            read(&[0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 2]),
            Err(Error::Long)
        );
    }

    #[test]
    fn too_short() {
        assert_eq!(read(&[0x80]), Err(Error::Short));
    }
}
