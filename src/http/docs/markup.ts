// HTML templates that escape every value except the results of other templates.

/** Text that is HTML already and is not escaped again. */
export class Html {
  readonly text: string
  constructor(text: string) {
    this.text = text
  }
}

type HtmlPart = string | number | Html | null | false | readonly HtmlPart[]

/** The template tag: escapes strings and numbers, joins lists, omits null and false. */
export function html(strings: TemplateStringsArray, ...pieces: readonly HtmlPart[]): Html {
  return new Html(strings.reduce((text, part, i) => text + (i === 0 ? '' : textOf(pieces[i - 1] ?? null)) + part, ''))
}

function textOf(piece: HtmlPart): string {
  if (piece === null || piece === false) return ''
  if (piece instanceof Html) return piece.text
  if (Array.isArray(piece)) return piece.map(textOf).join('')
  return String(piece).replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`)
}

/** Renders the Markdown of descriptions: paragraphs, lists of `- `, and `code`. */
export function prose(text: string): Html {
  const blocks = text.split(/\n\n+/).map((block) => {
    if (!block.startsWith('- ')) return html`<p>${inline(block)}</p>`
    const items = block
      .slice(2)
      .split(/\n- /)
      .map((item) => html`<li>${inline(item)}</li>`)
    return html`<ul>${items}</ul>`
  })
  return html`${blocks}`
}

/** Renders `code` within a line; everything else is escaped. */
export function inline(text: string): Html {
  const parts = text.split(/`([^`]+)`/).map((part, i) => (i % 2 === 1 ? html`<code>${part}</code>` : html`${part}`))
  return html`${parts}`
}
