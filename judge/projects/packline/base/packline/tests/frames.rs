use packline::{pack, unpack, Error};

/// A small generator of numbers, the same in each run.
struct Numbers(u64);

impl Numbers {
    fn next(&mut self) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(6364136223846793005)
            .wrapping_add(1442695040888963407);
        self.0 >> 33
    }
}

#[test]
fn round_trips() {
    let mut numbers = Numbers(7);
    for size in 0..400 {
        let mut data = Vec::new();
        while data.len() < size {
            let byte = (numbers.next() % 5) as u8;
            let count = (numbers.next() % 6) as usize;
            data.resize((data.len() + count).min(size), byte);
        }
        let frame = pack(&data);
        assert_eq!(unpack(&frame).as_deref(), Ok(&data[..]), "size {size}");
    }
}

#[test]
fn known_frame() {
    let want = include_bytes!("data/hello.frame");
    assert_eq!(pack(b"hello.......world"), want);
}

#[test]
fn one_bit_is_noticed() {
    let good = pack(b"some bytes that matter");
    for at in 2..good.len() {
        let mut bad = good.clone();
        bad[at] ^= 1;
        assert!(unpack(&bad).is_err(), "byte {at}");
    }
}

#[test]
fn errors() {
    assert_eq!(unpack(&[]), Err(Error::Short));
    assert_eq!(unpack(&[0]), Err(Error::Short));
    assert_eq!(unpack(&[5, 7, 1, 2, 3, 0, 0]), Err(Error::Length));
    assert_eq!(unpack(&[3, 7, 1, 2, 3, 0, 0]), Err(Error::Checksum));
}
