//! The results of `longspan simulate`.

#[cfg_attr(not(test), expect(dead_code, reason = "whoever runs the simulations calls it"))]
pub mod page;
