//! The known classes.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use crate::database::class::{Class, Definition};
use crate::eoj::ClassCode;
use crate::epc::Epc;

/// The built-in tables. Facts from the consortium's "APPENDIX Detailed Requirements for ECHONET Device
/// objects", release R.
const TABLES: &[&str] = &[
    include_str!("data/0000.txt"),
    include_str!("data/0007.txt"),
    include_str!("data/0011.txt"),
    include_str!("data/0130.txt"),
    include_str!("data/0135.txt"),
    include_str!("data/0263.txt"),
    include_str!("data/026B.txt"),
    include_str!("data/026F.txt"),
    include_str!("data/0272.txt"),
    include_str!("data/0279.txt"),
    include_str!("data/027B.txt"),
    include_str!("data/027C.txt"),
    include_str!("data/027D.txt"),
    include_str!("data/027E.txt"),
    include_str!("data/0287.txt"),
    include_str!("data/0288.txt"),
    include_str!("data/0290.txt"),
    include_str!("data/0291.txt"),
    include_str!("data/03B7.txt"),
    include_str!("data/05FF.txt"),
    include_str!("data/0EF0.txt"),
];

/// Manufacturers with well-known codes; the consortium publishes no list.
const MANUFACTURERS: &[([u8; 3], &str)] = &[
    ([0x00, 0x00, 0x05], "Sharp"),
    ([0x00, 0x00, 0x06], "Mitsubishi Electric"),
    ([0x00, 0x00, 0x08], "Daikin"),
    ([0x00, 0x00, 0x0B], "Panasonic"),
    ([0x00, 0x00, 0x16], "Toshiba"),
];

/// The name of a manufacturer, if its code is one of the few that are known.
pub fn manufacturer_name(code: [u8; 3]) -> Option<&'static str> {
    MANUFACTURERS.iter().find(|(other, _)| *other == code).map(|(_, name)| *name)
}

/// Classes by code and by name.
///
/// ```
/// use netdyno_echonet_core::{ClassCode, Database, Epc};
///
/// let database = Database::builtin();
/// let class = database.class_named("home_air_conditioner").ok_or("unknown")?;
/// let mode = database.definition_named(class.code, "operation_mode").ok_or("unknown")?;
/// assert_eq!((class.code, mode.epc), (ClassCode(0x0130), Epc(0xB0)));
/// assert_eq!((mode.encode("cooling"), mode.decode(&[0x43]).to_string()), (Ok(vec![0x42]), "heating".to_owned()));
/// # Ok::<(), &str>(())
/// ```
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Database {
    classes: BTreeMap<ClassCode, Class>,
}

impl Database {
    /// The super class of device objects.
    pub const SUPER_CLASS: ClassCode = ClassCode(0);

    /// An empty database.
    pub fn new() -> Self {
        Self::default()
    }

    /// The built-in classes: super class, node profile, and common classes of homes. This parses the tables:
    /// keep the result.
    pub fn builtin() -> Self {
        let mut database = Self::new();
        for table in TABLES {
            // The tests parse all tables.
            if let Ok(class) = Class::from_table(table) {
                database.insert(class);
            }
        }
        database
    }

    /// Adds a class; returns the one that it replaces.
    pub fn insert(&mut self, class: Class) -> Option<Class> {
        self.classes.insert(class.code, class)
    }

    /// Adds a class, or adds the missing properties to a known one. Existing names are kept.
    pub fn complete(&mut self, class: Class) {
        match self.classes.entry(class.code) {
            Entry::Vacant(entry) => drop(entry.insert(class)),
            // The existing definition takes precedence.
            Entry::Occupied(mut entry) => {
                let known = entry.get_mut();
                let all = known.properties().iter().chain(class.properties()).cloned().collect();
                *known = Class::new(known.code, known.name.clone(), known.short_name.clone(), all);
            }
        }
    }

    /// All classes in ascending order, the super class first.
    pub fn classes(&self) -> impl Iterator<Item = &Class> {
        self.classes.values()
    }

    /// A class.
    pub fn class(&self, code: ClassCode) -> Option<&Class> {
        self.classes.get(&code)
    }

    /// A class by its short name, or by its code in hexadecimal. The search is linear.
    pub fn class_named(&self, name: &str) -> Option<&Class> {
        let by_name = self.classes().find(|class| class.short_name == name);
        by_name.or_else(|| self.class(name.parse().ok()?))
    }

    /// A property of a class, or of the super class if the class does not define it; also for unknown
    /// classes. Profiles have no super class here.
    pub fn definition(&self, class: ClassCode, epc: Epc) -> Option<&Definition> {
        let own = self.class(class).and_then(|class| class.property(epc));
        own.or_else(|| self.super_class(class)?.property(epc))
    }

    /// A property by its short name, or by its code in hexadecimal. The search is linear in the class's
    /// properties.
    pub fn definition_named(&self, class: ClassCode, name: &str) -> Option<&Definition> {
        let classes = self.class(class).into_iter().chain(self.super_class(class));
        let by_name = classes.flat_map(Class::properties).find(|definition| definition.short_name == name);
        by_name.or_else(|| self.definition(class, name.parse().ok()?))
    }

    fn super_class(&self, class: ClassCode) -> Option<&Class> {
        self.class(Self::SUPER_CLASS).filter(|_| class.group() != ClassCode::NODE_PROFILE.group())
    }
}
