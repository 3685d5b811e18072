// Reads the layers of layers.txt. A paragraph is one layer:
//
//     src/engine/bind/ src/engine/plan/      its files: prefixes that end in `/`, or whole paths
//       src/engine/{bind/ value/} grammar/   what it may import, in any number of lines
//       ! synchronous                        words that its code must not contain: a name of `forbidden`
//       > a sentence, printed with a violation
//
// `a/{b c}` stands for `a/b a/c`, `./` for the folder of the importing file below src, `$name` for a list of `lists`; `#` begins a
// comment.

export interface LayerRule {
  /** Path prefixes (ending in `/`) or whole paths; the first rule that matches a file applies to it. */
  readonly files: readonly string[]
  /** Prefixes (ending in `/`) and whole paths of the repository, and package names (`node:` for all of Node's modules). */
  readonly mayImport: readonly string[]
  /** Printed with a violation. */
  readonly sentence: string
  /** Words that must not occur in the code of this layer, outside comments. */
  readonly forbiddenWords?: readonly ForbiddenWord[]
}

/** A word that code must not contain, and the reason. */
export interface ForbiddenWord {
  readonly word: RegExp
  readonly why: string
}

/** Reads the text. Throws if a line has no layer, or a name is unknown. */
export function readLayers(
  text: string,
  lists: Readonly<Record<string, readonly string[]>>,
  forbidden: Readonly<Record<string, readonly ForbiddenWord[]>>,
): LayerRule[] {
  const named = <T>(all: Readonly<Record<string, T>>, name: string): T => {
    const found = Object.hasOwn(all, name) ? all[name] : undefined
    if (found === undefined) throw new Error(`layers.txt: no list \`${name}\``)
    return found
  }
  const patternsOf = (line: string): string[] =>
    (line.match(/[^\s{}]*\{[^}]*\}|\S+/g) ?? []).flatMap((item) => {
      if (item.startsWith('$')) return named(lists, item.slice(1))
      const [, prefix = '', inner] = /^(.*)\{(.*)\}$/.exec(item) ?? []
      return inner === undefined
        ? [item]
        : inner
            .trim()
            .split(/\s+/)
            .map((one) => prefix + one)
    })
  return text
    .split(/\n\s*\n/)
    .map((paragraph) => paragraph.split('\n').filter((line) => line.trim() !== '' && !line.trimStart().startsWith('#')))
    .filter((lines) => lines.length > 0)
    .map(([files = '', ...lines]) => {
      const starting = (sign: string): string[] =>
        lines.flatMap((line) => (line.trimStart().startsWith(`${sign} `) ? [line.trim().slice(2)] : []))
      const sentence = starting('>').join(' ')
      if (sentence === '') throw new Error(`layers.txt: \`${files}\` has no sentence`)
      const words = starting('!').flatMap((name) => named(forbidden, name))
      return {
        files: patternsOf(files),
        mayImport: lines.filter((line) => !/^\s*[!>] /.test(line)).flatMap(patternsOf),
        sentence,
        ...(words.length > 0 && { forbiddenWords: words }),
      }
    })
}
