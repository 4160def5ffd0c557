//! Everything but requests and frees.

mod boot;
mod control;
mod drain;
mod hotplug;
mod observe;
mod sysctl;
mod work;
