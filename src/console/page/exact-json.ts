// JSON without loss: integers that JavaScript would round, and floats such as 2.0 that it would show as 2, keep their text.

/** A number with the text that the service sent. */
export class ExactNumber {
  readonly text: string
  constructor(text: string) {
    this.text = text
  }
}

type ParseWithSource = (
  text: string,
  reviver: (this: unknown, key: string, value: unknown, context?: { readonly source?: string }) => unknown,
) => unknown

/** As `JSON.parse`, with ExactNumber for each number that JavaScript writes in another way. A browser without the source of a value in `JSON.parse` rounds it. */
export function parseExact(text: string): unknown {
  // Few answers have such a number, and the plain parser is much faster.
  if (!/\d{16}|\.\d*0[,\]}\s]|\d[eE]/.test(text)) return JSON.parse(text)
  return (JSON.parse as ParseWithSource)(text, (_, value, context) => {
    if (typeof value !== 'number' || context?.source === undefined || context.source === String(value)) return value
    return new ExactNumber(context.source)
  })
}

/** The text of a value as JSON. `indent`: spaces for each level; 0: in one line. */
export function exactText(value: unknown, indent = 0): string {
  return write(value, indent, '')
}

function write(value: unknown, indent: number, margin: string): string {
  if (value instanceof ExactNumber) return value.text
  if (typeof value !== 'object' || value === null) return JSON.stringify(value) ?? 'null'
  const isList = Array.isArray(value)
  const inner = margin + ' '.repeat(indent)
  const items = isList
    ? value.map((item) => write(item, indent, inner))
    : Object.entries(value).map(
        ([name, item]) => `${JSON.stringify(name)}:${indent > 0 ? ' ' : ''}${write(item, indent, inner)}`,
      )
  const [open, close] = isList ? ['[', ']'] : ['{', '}']
  if (items.length === 0) return open + close
  return indent === 0
    ? open + items.join(',') + close
    : `${open}\n${inner}${items.join(`,\n${inner}`)}\n${margin}${close}`
}

/** The text of a value for people: a string without quotes. */
export function plainValue(value: unknown): string {
  return typeof value === 'string' ? value : exactText(value)
}
