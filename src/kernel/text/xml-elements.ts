// Reads elements of flat XML documents that services of CLOUD1 and S3-compatible servers answer with: no attributes, comments or CDATA.

/** The text of the first element with this name, or null if it is missing, empty or contains elements. */
export function xmlElement(xml: string, name: string): string | null {
  const [content] = xmlElements(xml, name)
  const text = content?.trim() ?? ''
  return text === '' || text.includes('<') ? null : unescaped(text)
}

/** The content of each element with this name, as XML. Elements of the name must not be nested. */
export function xmlElements(xml: string, name: string): readonly string[] {
  const found: string[] = []
  for (let at = 0; ; ) {
    const start = xml.indexOf(`<${name}>`, at)
    const end = start < 0 ? -1 : xml.indexOf(`</${name}>`, start)
    if (end < 0) return found
    found.push(xml.slice(start + name.length + 2, end))
    at = end
  }
}

/** Text as the content of an element. */
export function xmlText(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')
}

/** https://www.w3.org/TR/xml/#sec-predefined-ent; character references are used by some servers for the quotes of an ETag. */
function unescaped(text: string): string {
  return text
    .replace(/&#(?:x([0-9a-fA-F]{1,6})|(\d{1,7}));/g, (_, hex?: string, decimal?: string) =>
      characterOf(hex === undefined ? Number(decimal) : Number.parseInt(hex, 16)),
    )
    .replaceAll('&lt;', '<')
    .replaceAll('&gt;', '>')
    .replaceAll('&quot;', '"')
    .replaceAll('&apos;', "'")
    .replaceAll('&amp;', '&')
}

function characterOf(code: number): string {
  return code <= 0x10ffff ? String.fromCodePoint(code) : '\ufffd'
}
