//! Everything but requests and frees.

mod boot;
mod control;
mod drain;
mod hotplug;
mod observe;
mod split;
mod sysctl;
mod work;
