//! Joins the modules of the web client's first screen into one file, as its style sheets are: a browser far away asks for one, not
//! for eighty, and compression finds what they have in common.
//!
//! A module becomes a function that is called once, after those that it imports, and gives what it exports:
//!
//! ```js
//! const view_list = (() => {
//! const { effect, signal } = base_signal;
//! function list() { … }
//! return { list }
//! })();
//! ```
//!
//! This is no parser. It relies on how the client is written, which its tests check: imports of names at the top of a file, exports
//! of functions, classes and constants at the beginning of a line, no circles, and no `await` outside a function. A default export
//! is imported by that name: `import { default as talk } from './talk.js'`.

use std::collections::{BTreeMap, BTreeSet};

/// Files by path.
pub type Sources = BTreeMap<String, Vec<u8>>;

/// Joins `entry` with all that it imports, directly or not. These are no files any more: what the other modules import of them
/// comes from the joined file.
pub fn join(sources: &mut Sources, entry: &str) {
    let mut joined = Vec::new();
    visit(sources, entry, &mut joined);
    let within: BTreeSet<String> = joined.iter().map(|module| module.path.clone()).collect();
    for module in &joined {
        sources.remove(&module.path);
    }
    for (path, source) in sources.iter_mut().filter(|(path, _)| path.ends_with(".js")) {
        *source = redirected(path, &String::from_utf8_lossy(source), entry, &within).into_bytes();
    }
    let last = joined.pop().expect("the entry comes last");
    let names: Vec<String> = joined.iter().map(|module| identifier(&module.path)).chain(last.exports.iter().cloned()).collect();
    let mut text: String = joined.iter().map(Module::as_function).collect();
    text += &format!("{}{}export {{ {} }}\n", last.head(), last.body, names.join(", "));
    sources.insert(entry.to_owned(), text.into_bytes());
}

struct Module {
    path: String,
    imports: Vec<Import>,
    exports: Vec<String>,
    /// The code without imports, exports and comments on lines of their own.
    body: String,
}

struct Import {
    /// As they stand between the braces: `one, two as other`.
    names: String,
    /// The imported file's path.
    path: String,
}

/// Reads a module after those that it imports.
fn visit(sources: &Sources, path: &str, done: &mut Vec<Module>) {
    if done.iter().any(|module| module.path == path) {
        return;
    }
    let source = sources.get(path).map(|content| String::from_utf8_lossy(content)).unwrap_or_default();
    let module = Module::read(path, &source);
    for import in &module.imports {
        visit(sources, &import.path, done);
    }
    done.push(module);
}

impl Module {
    fn read(path: &str, source: &str) -> Module {
        let mut module = Module { path: path.to_owned(), imports: Vec::new(), exports: Vec::new(), body: String::new() };
        let mut lines = source.lines();
        while let Some(line) = lines.next() {
            let text = line.trim_start();
            if text.is_empty() || text.starts_with("//") {
                continue;
            }
            if text.starts_with("/**") && (line.ends_with("*/") || !line.contains("*/")) {
                if !line.ends_with("*/") {
                    _ = lines.find(|line| line.ends_with("*/"));
                }
            } else if line.starts_with("import {") {
                let mut whole = line.to_owned();
                while !whole.contains(" from '") {
                    whole += lines.next().unwrap_or(" from '");
                }
                module.imports.push(Import::read(path, &whole));
            } else if let Some(names) = line.strip_prefix("export {") {
                module.exports.extend(names.trim_end_matches('}').split(',').map(|name| name.trim().to_owned()));
            } else if let Some(value) = line.strip_prefix("export default ") {
                module.exports.push("default: whole".into());
                module.body += &format!("const whole = {value}\n");
            } else {
                let declaration = line.strip_prefix("export ");
                module.exports.extend(declaration.map(declared));
                module.body += &from_the_root(path, declaration.unwrap_or(line));
                module.body.push('\n');
            }
        }
        module
    }

    /// The names that it imports, taken from the functions of their modules.
    fn head(&self) -> String {
        self.imports.iter().map(Import::as_names).collect()
    }

    fn as_function(&self) -> String {
        let (name, head, body, exports) = (identifier(&self.path), self.head(), &self.body, self.exports.join(", "));
        format!("const {name} = (() => {{\n{head}{body}return {{ {exports} }}\n}})();\n")
    }
}

impl Import {
    /// Reads `import { names } from 'address'` of the module at `path`.
    fn read(path: &str, line: &str) -> Import {
        let (names, address) = line.split_once(" from '").unwrap_or((line, ""));
        let names = names.trim_start_matches("import").trim().trim_matches(['{', '}']).trim().to_owned();
        Import { names, path: resolve(path, address.trim_end_matches('\'')) }
    }

    fn as_names(&self) -> String {
        format!("const {{ {} }} = {};\n", self.names.replace(" as ", ": "), identifier(&self.path))
    }
}

/// A module that is loaded later, with its imports of joined modules led to the joined file.
fn redirected(path: &str, source: &str, entry: &str, within: &BTreeSet<String>) -> String {
    let up = if path.contains('/') { "../".repeat(path.matches('/').count()) } else { "./".to_owned() };
    let mut text = String::new();
    let mut lines = source.lines();
    while let Some(line) = lines.next() {
        let mut whole = line.to_owned();
        while whole.starts_with("import {") && !whole.contains(" from '") {
            whole += lines.next().unwrap_or(" from '");
        }
        let import = whole.starts_with("import {").then(|| Import::read(path, &whole)).filter(|each| within.contains(&each.path));
        if let Some(import) = import {
            text += &format!("import {{ {} }} from '{up}{entry}'\n{}", identifier(&import.path), import.as_names());
        } else {
            text += &whole;
            text.push('\n');
        }
    }
    text
}

/// `view_keep_place` for `view/keep-place.js`: no name in a module has an underscore between words.
fn identifier(path: &str) -> String {
    path.trim_end_matches(".js").replace(['/', '-'], "_")
}

/// The name in `async function load(url) {`, without its `export`.
fn declared(line: &str) -> String {
    let rest = line.trim_start_matches("async ").split_once(' ').map_or("", |(_, rest)| rest);
    rest.split(|letter: char| !(letter.is_alphanumeric() || letter == '_')).next().unwrap_or_default().to_owned()
}

/// A line with the addresses of what is imported later, which are relative to its module, made relative to the joined file.
fn from_the_root(path: &str, line: &str) -> String {
    let mut text = String::new();
    let mut rest = line;
    while let Some(at) = rest.find("import('.").or_else(|| rest.find("import(`.")) {
        let (before, after) = rest.split_at(at + "import('".len());
        let end = after.find(['\'', '`', '$']).unwrap_or(after.len());
        text += &format!("{before}./{}", resolve(path, &after[..end]));
        rest = &after[end..];
    }
    text + rest
}

/// The file that a module means by a relative address: `../base/signal.js` in `view/list.js` is `base/signal.js`.
fn resolve(importer: &str, address: &str) -> String {
    let mut path: Vec<&str> = importer.split('/').collect();
    path.pop();
    for part in address.split('/') {
        match part {
            "." => {}
            ".." => _ = path.pop(),
            part => path.push(part),
        }
    }
    path.join("/")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sources(files: &[(&str, &str)]) -> Sources {
        files.iter().map(|(path, text)| ((*path).to_owned(), text.as_bytes().to_vec())).collect()
    }

    #[test]
    fn modules_are_joined_in_the_order_of_their_imports_and_later_ones_take_from_the_joined_file() {
        let mut files = sources(&[
            ("main.js", "import { list as rows } from './view/list.js'\nrows()\n"),
            (
                "view/list.js",
                "// Lists.\nimport {\n  Owner, signal,\n} from '../base/signal.js'\n\n/** Makes one. */\nexport function list() {\n  \
                 /**\n   * Later.\n   */\n  return import('./late.js').then(() => import(`../texts/${signal}.js`))\n}\n",
            ),
            ("base/signal.js", "export const signal = 1\nexport class Owner {}\nasync function own() {}\nexport { own }\n"),
            ("view/late.js", "import { signal } from '../base/signal.js'\nimport { other } from './other.js'\n// Late.\n"),
            ("view/other.js", "export const other = 2\n"),
        ]);
        join(&mut files, "main.js");
        let text = |path: &str| String::from_utf8(files[path].clone()).unwrap();
        assert_eq!(
            text("main.js"),
            "const base_signal = (() => {\nconst signal = 1\nclass Owner {}\nasync function own() {}\nreturn { signal, Owner, own }\n})();\n\
             const view_list = (() => {\nconst { Owner, signal, } = base_signal;\nfunction list() {\n  \
             return import('./view/late.js').then(() => import(`./texts/${signal}.js`))\n}\nreturn { list }\n})();\n\
             const { list: rows } = view_list;\nrows()\nexport { base_signal, view_list }\n"
        );
        assert_eq!(
            text("view/late.js"),
            "import { base_signal } from '../main.js'\nconst { signal } = base_signal;\nimport { other } from './other.js'\n// Late.\n"
        );
        assert_eq!(text("view/other.js"), "export const other = 2\n");
        assert_eq!(files.keys().collect::<Vec<_>>(), ["main.js", "view/late.js", "view/other.js"]);
    }

    #[test]
    fn default_exports_are_joined_and_the_entry_keeps_its_own_exports() {
        let mut files = sources(&[
            ("texts/en/first.js", "import { default as talk } from './talk.js'\nexport const areas = { talk }\n"),
            ("texts/en/talk.js", "/** @type {Area} */\nexport default {\n  gone: 'Gone',\n}\n"),
        ]);
        join(&mut files, "texts/en/first.js");
        let joined = "const texts_en_talk = (() => {\nconst whole = {\n  gone: 'Gone',\n}\nreturn { default: whole }\n})();\n\
                      const { default: talk } = texts_en_talk;\nconst areas = { talk }\nexport { texts_en_talk, areas }\n";
        assert_eq!(files, sources(&[("texts/en/first.js", joined)]));
    }
}
