//! Computed properties of the node profile (Part 2, section 6.11.1).

use crate::description::{Access, Description};
use crate::eoj::{ClassCode, Eoj};
use crate::epc::Epc;
use crate::limits::{LISTED_CLASSES_MAX, LISTED_INSTANCES_MAX};

/// D3 to D7 of a node with these device objects, in ascending order. Lists hold the first 84 instances and
/// the first 8 classes; D3 and D4 count all.
pub(super) fn computed(description: &Description) -> Vec<(Epc, Vec<u8>, Access)> {
    let mut objects: Vec<Eoj> = description.objects.iter().map(|object| object.eoj).collect();
    objects.sort_unstable();
    let mut classes: Vec<ClassCode> = objects.iter().map(|eoj| eoj.class()).collect();
    classes.dedup();
    let instance_count = u32::try_from(objects.len()).unwrap_or(u32::MAX).to_be_bytes();
    // Includes the class of the node profile itself.
    let class_count = u16::try_from(classes.len() + 1).unwrap_or(u16::MAX).to_be_bytes();
    let listed_classes = &classes[..classes.len().min(LISTED_CLASSES_MAX)];
    let mut class_list = vec![u8::try_from(listed_classes.len()).unwrap_or(u8::MAX)];
    class_list.extend(listed_classes.iter().flat_map(|class| class.0.to_be_bytes()));
    let mut instances = Vec::new();
    instance_list(&objects[..objects.len().min(LISTED_INSTANCES_MAX)], &mut instances);
    vec![
        (Epc::INSTANCE_COUNT, instance_count[1..].to_vec(), Access::GET),
        (Epc::CLASS_COUNT, class_count.to_vec(), Access::GET),
        // Announced, never read.
        (
            Epc::INSTANCE_LIST_NOTIFICATION,
            instances.clone(),
            Access { get: false, set: false, announce: true },
        ),
        (Epc::INSTANCE_LIST, instances, Access::GET),
        (Epc::CLASS_LIST, class_list, Access::GET),
    ]
}

/// The value of D5 or D6 for at most 84 objects.
pub(super) fn instance_list(objects: &[Eoj], value: &mut Vec<u8>) {
    value.clear();
    value.push(u8::try_from(objects.len()).unwrap_or(u8::MAX));
    value.extend(objects.iter().flat_map(|eoj| eoj.0));
}
