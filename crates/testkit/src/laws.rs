//! Named laws of the RM core, for property tests and the simulation.
//! May touch: the core's public face.
//! Must not: know scenarios.

use rm_core::{Effect, Event, Rm, event::NodeRequest};
use yarn_types::{Millis, NodeState};

/// No node holds more than it offers in memory and vcores, and the sums of nodes, queues and
/// applications agree (`Rm::check`).
pub fn never_over_allocates(rm: &Rm) -> Result<(), String> {
    for node in rm.nodes() {
        if node.state == NodeState::Running && !node.used.fits(node.total) {
            return Err(format!(
                "{} offers {:?} and holds {:?}",
                node.id, node.total, node.used
            ));
        }
    }
    Ok(())
}

/// [`never_over_allocates`], where no node has registered with different sizes or was made
/// smaller by an administrator: one that shrinks
/// below what it holds is over-allocated until enough has ended, as in YARN.
pub fn never_over_allocates_unless_shrunk(rm: &Rm, steps: &[Step]) -> Result<(), String> {
    let mut sizes = std::collections::BTreeMap::new();
    for (_, event) in steps {
        if matches!(event, Event::Admin { .. } | Event::DynamicResources(_)) {
            return Ok(());
        }
        if let Event::Node {
            request: NodeRequest::Register(r),
            ..
        } = event
            && let size = (r.total, r.gpus.is_some())
            && *sizes.entry(r.node.clone()).or_insert(size) != size
        {
            return Ok(());
        }
    }
    never_over_allocates(rm)
}

/// One step of a run: when, and what came; a pass follows.
pub type Step = (Millis, Event);

/// Applies `steps` and returns the effects, checking the core after each.
pub fn run(rm: &mut Rm, steps: &[Step]) -> Result<Vec<Effect>, String> {
    let mut effects = Vec::new();
    for (at, (now, event)) in steps.iter().enumerate() {
        rm.apply(*now, event.clone(), &mut effects);
        rm.check()
            .map_err(|e| format!("after event {at} {event:?}: {e}"))?;
        let mut passes = 0;
        while rm.pass(*now, &mut effects) {
            passes += 1;
            if passes > 10_000 {
                return Err(format!("after event {at} {event:?}: passes do not end"));
            }
        }
        rm.check()
            .map_err(|e| format!("after the pass of event {at} {event:?}: {e}"))?;
    }
    Ok(effects)
}

/// Two runs of the same steps give the same effects and the same digest.
pub fn replay_is_equal(boot: &Rm, steps: &[Step]) -> Result<(), String> {
    let (mut one, mut two) = (boot.clone(), boot.clone());
    let (first, second) = (run(&mut one, steps)?, run(&mut two, steps)?);
    if let Some(at) = first.iter().zip(&second).position(|(a, b)| a != b) {
        return Err(format!(
            "effect {at} differs: {:?} and {:?}",
            first[at], second[at]
        ));
    }
    if first.len() != second.len() || one.digest() != two.digest() {
        return Err("the runs end in different states".to_owned());
    }
    Ok(())
}

/// A fork leaves the original as it was.
pub fn fork_is_separate(rm: &Rm, steps: &[Step]) -> Result<(), String> {
    let before = rm.digest();
    run(&mut rm.clone(), steps)?;
    if rm.digest() == before {
        Ok(())
    } else {
        Err("the fork changed its origin".to_owned())
    }
}

/// An event that comes a second time changes no account: what the cluster holds is the same.
pub fn release_is_idempotent(rm: &Rm, step: &Step) -> Result<(), String> {
    let mut once = rm.clone();
    run(&mut once, std::slice::from_ref(step))?;
    let mut twice = once.clone();
    run(&mut twice, std::slice::from_ref(step))?;
    let (a, b) = (once.metrics(), twice.metrics());
    if (a.used, a.containers) == (b.used, b.containers) {
        Ok(())
    } else {
        Err(format!(
            "held {:?}, after the repetition {:?}",
            a.used, b.used
        ))
    }
}
