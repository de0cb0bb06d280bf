//! Capture and encoding by GStreamer, with the properties of the published program.

use bytes::Bytes;
use gstreamer::prelude::*;
use gstreamer::{Bin, FlowError, FlowSuccess, State};
use gstreamer_app::{AppSink, AppSinkCallbacks};
use netdyno_contender::mjpeg::Job;
use tokio::sync::mpsc::{self, Receiver};

/// A JPEG file.
pub type Picture = Bytes;

/// Captured pictures that wait for being forwarded.
const CAPTURED_MAX: usize = 5;
/// The frame rate without pacing.
const FLAT_OUT_FPS: u32 = 30;

/// Starts the pipeline, whose thread copies each picture into a channel. A full channel drops it.
pub fn capture(job: &Job) -> Result<Receiver<Picture>, String> {
    let pipeline = gstreamer::parse::launch(&description(job)).map_err(|e| e.to_string())?;
    let bin = pipeline.downcast_ref::<Bin>().ok_or("not a pipeline")?;
    let sink = bin.by_name("sink").and_then(|sink| sink.downcast::<AppSink>().ok()).ok_or("no appsink")?;
    let (send, pictures) = mpsc::channel(CAPTURED_MAX);
    let callbacks = AppSinkCallbacks::builder().new_sample(move |sink| {
        let sample = sink.pull_sample().map_err(|_| FlowError::Eos)?;
        let buffer = sample.buffer().ok_or(FlowError::Error)?;
        let bytes = buffer.map_readable().map_err(|_| FlowError::Error)?;
        let _ = send.try_send(Bytes::copy_from_slice(&bytes));
        Ok(FlowSuccess::Ok)
    });
    sink.set_callbacks(callbacks.build());
    pipeline.set_state(State::Playing).map_err(|e| e.to_string())?;
    // The pipeline runs until the process ends.
    std::mem::forget(pipeline);
    Ok(pictures)
}

/// A camera's pipeline, with a test picture instead of the camera.
fn description(job: &Job) -> String {
    let (fps, live) = if job.fps > 0 { (job.fps, true) } else { (FLAT_OUT_FPS, false) };
    format!(
        "videotestsrc is-live={live} ! video/x-raw,format=I420,width={},height={},framerate={fps}/1 \
         ! queue max-size-buffers=2 leaky=downstream ! videoconvert ! jpegenc quality={} \
         ! appsink name=sink sync={live} max-buffers=2 drop=true emit-signals=false",
        job.width, job.height, job.quality
    )
}
