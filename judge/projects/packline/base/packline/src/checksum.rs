//! Fletcher's checksum of 16 bits: the second sum in the high byte, the first in the low one.

pub fn of(data: &[u8]) -> u16 {
    let (mut a, mut b) = (0u16, 0u16);
    for byte in data {
        a = (a + u16::from(*byte)) % 255;
        b = (b + a) % 255;
    }
    b << 8 | a
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_sums() {
        assert_eq!(of(b"abcde"), 0xc8f0);
        assert_eq!(of(b"abcdef"), 0x2057);
        assert_eq!(of(b""), 0);
    }

    #[test]
    fn order_matters() {
        assert_ne!(of(b"ab"), of(b"ba"));
    }
}
