//! Links and addresses of a private network, configured by netlink.

use std::fs::File;
use std::net::{IpAddr, Ipv4Addr};
use std::os::fd::AsRawFd;

use nix::net::if_::if_nametoindex;
use rtnetlink::packet_route::link::LinkAttribute;
use rtnetlink::packet_route::route::RouteScope;
use rtnetlink::{Handle, LinkUnspec, LinkVeth, RouteMessageBuilder};

use super::{FIRST_INTERFACE, SECOND_INTERFACE, shaping};
use crate::error::failed;
use netdyno_lab_manifest::Link;

/// The range that RFC 2544 reserves for benchmarks: no route of the host leads there.
pub(crate) const FIRST_ADDRESS: Ipv4Addr = Ipv4Addr::new(198, 18, 0, 1);
pub(crate) const SECOND_ADDRESS: Ipv4Addr = Ipv4Addr::new(198, 18, 0, 2);
const PREFIX_LENGTH: u8 = 30;
/// Queue length of a TUN device; the default is 500.
const QUEUE_PACKETS: u32 = 10_000;
pub(crate) const LOOPBACK: &str = "lo";

/// Configures a loopback with an additional address outside the loopback network, since ICE gathers no candidates on
/// 127.0.0.1. The address belongs to a veth pair with both ends in this namespace; packets to it are local and pass
/// through `lo`.
pub(crate) fn loopback() -> Result<(), String> {
    run(async |handle| {
        make_pair(&handle).await?;
        up(&handle, LOOPBACK).await?;
        address(&handle, FIRST_INTERFACE, FIRST_ADDRESS).await?;
        up(&handle, SECOND_INTERFACE).await?;
        up(&handle, FIRST_INTERFACE).await?;
        multicast(&handle, FIRST_INTERFACE).await
    })
}

/// Creates a veth pair and moves its first end to the namespace `first`.
pub(crate) fn veth(first: &File, mtu: u32) -> Result<(), String> {
    run(async |handle| {
        make_pair(&handle).await?;
        let moved =
            LinkUnspec::new_with_name(FIRST_INTERFACE).mtu(mtu).setns_by_fd(first.as_raw_fd()).build();
        handle.link().set(moved).execute().await.map_err(failed("moving one end of the veth pair"))
    })
}

pub(crate) fn side(interface: &str, ip: Ipv4Addr, link: &Link) -> Result<(), String> {
    run(async |handle| {
        up(&handle, LOOPBACK).await?;
        let mut sized = LinkUnspec::new_with_name(interface).mtu(link.mtu);
        if link.is_emulated() {
            // A full queue of a TUN device drops packets before they are read.
            sized = sized.append_extra_attribute(LinkAttribute::TxQueueLen(QUEUE_PACKETS));
        }
        let sized = sized.build();
        handle.link().set(sized).execute().await.map_err(failed("setting the MTU"))?;
        address(&handle, interface, ip).await?;
        up(&handle, interface).await?;
        multicast(&handle, interface).await?;
        match link.rate_bits_per_s {
            // The lab, which relays the packets, also limits the rate: a qdisc of the sender's own system is not a link
            // queue, since TCP avoids filling it.
            Some(rate) if !link.is_emulated() => {
                shaping::limit_rate(&handle, index(interface)?, rate, link.mtu).await
            }
            _ => Ok(()),
        }
    })
}

/// Limits a device to one segment at a time: the kernel splits segmented sends before the device. Returns a note.
pub(crate) fn no_gso(interface: &str) -> Result<String, String> {
    run(async |handle| {
        let limited =
            LinkUnspec::new_with_name(interface).append_extra_attribute(LinkAttribute::GsoMaxSegs(1)).build();
        handle.link().set(limited).execute().await.map_err(failed("limiting segments (gso_max_segs)"))
    })?;
    Ok("no segmentation offload (gso_max_segs 1)".to_owned())
}

/// Runs requests on a netlink socket of the current namespace.
fn run(requests: impl AsyncFnOnce(Handle) -> Result<(), String>) -> Result<(), String> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_io()
        .build()
        .map_err(failed("netlink runtime"))?;
    runtime.block_on(async {
        let (connection, handle, _) = rtnetlink::new_connection().map_err(failed("netlink socket"))?;
        tokio::spawn(connection);
        requests(handle).await
    })
}

async fn make_pair(handle: &Handle) -> Result<(), String> {
    let pair = LinkVeth::new(FIRST_INTERFACE, SECOND_INTERFACE).build();
    handle.link().add(pair).execute().await.map_err(failed("creating a veth pair"))
}

async fn up(handle: &Handle, interface: &str) -> Result<(), String> {
    let message = LinkUnspec::new_with_name(interface).up().build();
    handle.link().set(message).execute().await.map_err(failed("bringing an interface up"))
}

async fn address(handle: &Handle, interface: &str, ip: Ipv4Addr) -> Result<(), String> {
    let request = handle.address().add(index(interface)?, IpAddr::V4(ip), PREFIX_LENGTH);
    request.execute().await.map_err(failed("adding an address"))
}

/// Routes multicast to this interface for programs that name none. No other route exists, so packets to other
/// destinations are rejected immediately instead of waiting for replies.
async fn multicast(handle: &Handle, interface: &str) -> Result<(), String> {
    let route = RouteMessageBuilder::<Ipv4Addr>::new()
        .destination_prefix(Ipv4Addr::new(224, 0, 0, 0), 4)
        .output_interface(index(interface)?)
        .scope(RouteScope::Link)
        .build();
    handle.route().add(route).execute().await.map_err(failed("adding the multicast route"))
}

fn index(interface: &str) -> Result<u32, String> {
    if_nametoindex(interface).map_err(failed(format!("interface {interface}")))
}
