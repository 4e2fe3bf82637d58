//! Tags of messages whose ends share a key.

/// Gives a message of `MESSAGE_LEN` bytes, the last of which are its tag from `TAG_AT` on, the tag of a key: SipHash-2-4 over
/// all bytes before it.
macro_rules! sealed {
    ($message:ty) => {
        impl $message {
            fn expected_tag(&self, key: &crate::rate_feedback::Key) -> u64 {
                let mut bytes = [0; MESSAGE_LEN];
                self.emit(&mut bytes);
                siphasher::sip::SipHasher24::new_with_key(&key.0).hash(&bytes[..TAG_AT])
            }

            /// The message with its tag for `key`.
            pub fn sealed(self, key: &crate::rate_feedback::Key) -> Self {
                Self { tag: self.expected_tag(key), ..self }
            }

            /// Whether its tag is that for `key`. Takes the same time whichever bits are wrong.
            pub fn is_sealed_by(&self, key: &crate::rate_feedback::Key) -> bool {
                self.tag ^ self.expected_tag(key) == 0
            }
        }
    };
}

pub(super) use sealed;
