//! Home Assistant's MQTT discovery messages.

use netdyno_echonet::core::{Eoj, Epc};
use serde_json::{Value, json};

use crate::cli::names::{self, Kind};

/// A property of an object of a node, as an entity in Home Assistant.
#[derive(Debug)]
pub(super) struct Entity<'a> {
    /// The prefix of all topics.
    pub(super) base: &'a str,
    /// The prefix of discovery topics.
    pub(super) prefix: &'a str,
    /// The node's name in topics.
    pub(super) id: &'a str,
    pub(super) node: String,
    pub(super) maker: Option<String>,
    pub(super) eoj: Eoj,
    pub(super) epc: Epc,
    pub(super) can_set: bool,
}

/// The topic of a state.
pub(super) fn state_topic(base: &str, id: &str, eoj: Eoj, epc: Epc) -> String {
    format!("{base}/{id}/{eoj}/{epc}")
}

/// The topic of a node's availability.
pub(super) fn availability_topic(base: &str, id: &str) -> String {
    format!("{base}/{id}/availability")
}

/// The topic of the bridge's availability.
pub(super) fn bridge_topic(base: &str) -> String {
    format!("{base}/bridge/state")
}

impl Entity<'_> {
    /// The topic and the payload.
    pub(super) fn message(&self) -> (String, Value) {
        let class = self.eoj.class();
        let state = state_topic(self.base, self.id, self.eoj, self.epc);
        let unique = format!("echonet_{}_{}_{}", self.id, self.eoj, self.epc);
        let mut config = json!({
            "unique_id": unique,
            "object_id": unique.to_lowercase(),
            "name": names::property(class, self.epc),
            "state_topic": state,
            "availability_mode": "all",
            "availability": [
                { "topic": bridge_topic(self.base) },
                { "topic": availability_topic(self.base, self.id) },
            ],
            "device": {
                "identifiers": [format!("echonet_{}_{}", self.id, self.eoj)],
                "name": format!("{} {}", names::class(class), self.eoj.instance()),
                "model": format!("{} at {}", self.eoj, self.node),
                "manufacturer": self.maker.clone().unwrap_or_else(|| "unknown".to_owned()),
            },
        });
        if self.can_set {
            config["command_topic"] = json!(format!("{state}/set"));
        }
        let component = match (names::kind(class, self.epc), self.can_set) {
            (Kind::Switch(on, off), set) => {
                (config["payload_on"], config["payload_off"]) = (json!(on), json!(off));
                if set { "switch" } else { "binary_sensor" }
            }
            (Kind::Choice(words), true) => {
                config["options"] = json!(words);
                "select"
            }
            (Kind::Choice(words), false) => {
                (config["options"], config["device_class"]) = (json!(words), json!("enum"));
                "sensor"
            }
            (Kind::Number { unit, min, max, step }, set) => {
                if let Some(device_class) = device_class(&unit) {
                    config["device_class"] = json!(device_class);
                }
                if !unit.is_empty() {
                    config["unit_of_measurement"] = json!(unit);
                }
                if set {
                    (config["min"], config["max"], config["step"]) = (json!(min), json!(max), json!(step));
                    "number"
                } else {
                    "sensor"
                }
            }
            (Kind::Other, true) => "text",
            (Kind::Other, false) => "sensor",
        };
        (format!("{}/{component}/{unique}/config", self.prefix), config)
    }
}

/// Home Assistant's device class for a unit.
fn device_class(unit: &str) -> Option<&'static str> {
    Some(match unit {
        "°C" => "temperature",
        "W" | "kW" => "power",
        "kWh" | "Wh" => "energy",
        "A" | "mA" => "current",
        "V" => "voltage",
        "lx" | "lux" => "illuminance",
        "ppm" => "carbon_dioxide",
        "m3" | "m³" => "volume",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_light_can_be_switched() {
        let entity = Entity {
            base: "echonet",
            prefix: "homeassistant",
            id: "FE00000B01",
            node: "192.0.2.7".to_owned(),
            maker: None,
            eoj: Eoj([2, 0x91, 1]),
            epc: Epc(0x80),
            can_set: true,
        };
        let (topic, config) = entity.message();
        assert_eq!(topic, "homeassistant/switch/echonet_FE00000B01_029101_80/config");
        assert_eq!(config["state_topic"], "echonet/FE00000B01/029101/80");
        assert_eq!(config["command_topic"], "echonet/FE00000B01/029101/80/set");
        assert_eq!(config["availability"][1]["topic"], "echonet/FE00000B01/availability");
        let (topic, config) = Entity { can_set: false, ..entity }.message();
        assert!(topic.contains("/binary_sensor/") && config.get("command_topic").is_none(), "{topic}");
    }
}
