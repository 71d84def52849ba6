//! The data plane on ports in memory, without a world: formats, stations, allocations, orderings of memory. (Tier 0.)

#[path = "../shared/bench.rs"]
mod bench;
#[path = "../shared/link.rs"]
mod link;
#[path = "../shared/mem_port.rs"]
mod mem_port;
#[allow(dead_code)] // the benches use more of it
#[path = "../../perf/micro/shared/memory.rs"]
mod memory;
#[path = "../shared/messages.rs"]
mod messages;
#[path = "../shared/overload.rs"]
mod overload;
#[allow(dead_code)] // the benches use more of it
#[path = "../../perf/micro/shared/plan.rs"]
mod plan;
#[allow(dead_code)] // the benches use more of it
#[path = "../../perf/micro/shared/probed.rs"]
mod probed;
#[path = "../shared/secys.rs"]
mod secys;
#[path = "../shared/wire_exercise.rs"]
mod wire_exercise;
#[path = "../shared/wire_frames.rs"]
mod wire_frames;

mod congestion_no_alloc;
mod host;
mod loom_exchange;
mod loom_gate;
mod no_alloc;
mod no_alloc_proxy;
mod no_alloc_reactions;
mod no_alloc_secured;
mod no_alloc_secy;
mod sim_congestion;
mod wire_golden;
mod wire_mutations;
