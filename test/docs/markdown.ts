// Parts of pages in Markdown.

/** A code span; with two back-ticks around a text that has one (CommonMark 6.1). */
export const code = (text: string): string => (text.includes('`') ? `\`\` ${text} \`\`` : `\`${text}\``)
/** A row of a table. */
export const row = (cells: readonly string[]): string =>
  `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`

/** A table; `rows` are made by `row`. */
export function table(heading: readonly string[], rows: readonly string[]): string {
  return [row(heading), row(heading.map(() => '---')), ...rows].join('\n')
}

/** A page with its title. */
export const page = (title: string, parts: readonly string[]): string => `${[`# ${title}`, ...parts].join('\n\n')}\n`
