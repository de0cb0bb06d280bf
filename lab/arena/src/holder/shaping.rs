//! Rate limits by the kernel's token bucket filter (tc-tbf(8)), configured by netlink.

use futures_util::StreamExt;
use rtnetlink::Handle;
use rtnetlink::packet_core::{
    DefaultNla, NLM_F_ACK, NLM_F_CREATE, NLM_F_EXCL, NLM_F_REQUEST, NetlinkMessage, NetlinkPayload,
};
use rtnetlink::packet_route::RouteNetlinkMessage;
use rtnetlink::packet_route::tc::{TcAttribute, TcHandle, TcMessage, TcOption};

use crate::limits::LINK_QUEUE;

// linux/pkt_sched.h
const TCA_TBF_PARMS: u16 = 1;
const TCA_TBF_RATE64: u16 = 4;
const TCA_TBF_BURST: u16 = 6;
const TC_LINKLAYER_ETHERNET: u8 = 1;
/// `struct tc_tbf_qopt`: two `struct tc_ratespec` of 12 bytes, then `limit`, `buffer` and `mtu`.
const PARAMETERS_BYTES: usize = 36;
const RATESPEC_LINKLAYER: usize = 1;
const LIMIT: usize = 24;

/// A bucket of 4 ms: the kernel refills it by the clock, so a smaller one would only cost CPU time.
const BURSTS_PER_S: u64 = 250;
/// Even a slow link's bucket holds a few packets.
const MIN_BURST_PACKETS: u64 = 4;
const ETHERNET_HEADER_BYTES: u64 = 14;

pub(super) async fn limit_rate(handle: &Handle, index: u32, bits_per_s: u64, mtu: u32) -> Result<(), String> {
    let mut message = TcMessage::with_index(i32::try_from(index).map_err(|error| error.to_string())?);
    message.header.parent = TcHandle::ROOT;
    message.attributes =
        vec![TcAttribute::Kind("tbf".to_owned()), TcAttribute::Options(options(bits_per_s, mtu))];
    let mut request = NetlinkMessage::from(RouteNetlinkMessage::NewQueueDiscipline(message));
    request.header.flags = NLM_F_REQUEST | NLM_F_ACK | NLM_F_CREATE | NLM_F_EXCL;
    let failed = |error: String| format!("a limited rate needs the kernel's tbf qdisc: {error}");
    let mut answers = handle.clone().request(request).map_err(|error| failed(error.to_string()))?;
    while let Some(answer) = answers.next().await {
        if let NetlinkPayload::Error(error) = answer.payload
            && error.code.is_some()
        {
            return Err(failed(error.to_string()));
        }
    }
    Ok(())
}

/// The rate is given as 64 bits of bytes per second, the bucket in bytes; the older fields of both stay 0.
fn options(bits_per_s: u64, mtu: u32) -> Vec<TcOption> {
    let bytes_per_s = (bits_per_s / 8).max(1);
    let packet = u64::from(mtu) + ETHERNET_HEADER_BYTES;
    let burst = (bytes_per_s / BURSTS_PER_S).max(MIN_BURST_PACKETS * packet);
    let limit = burst.saturating_add(bytes_per_s * LINK_QUEUE.as_millis() as u64 / 1000);
    let narrow = |value: u64| u32::try_from(value).unwrap_or(u32::MAX).to_ne_bytes();
    let mut parameters = vec![0; PARAMETERS_BYTES];
    parameters[RATESPEC_LINKLAYER] = TC_LINKLAYER_ETHERNET;
    parameters[LIMIT..LIMIT + 4].copy_from_slice(&narrow(limit));
    let option = |kind, value| TcOption::Other(DefaultNla::new(kind, value));
    vec![
        option(TCA_TBF_PARMS, parameters),
        option(TCA_TBF_RATE64, bytes_per_s.to_ne_bytes().to_vec()),
        option(TCA_TBF_BURST, narrow(burst).to_vec()),
    ]
}
