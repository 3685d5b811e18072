// Where a value stands in a document, as messages write it: `nodes[3].properties[0].value`.

/** A name comes from whoever sent the document, and may be a document itself. */
const NAME_MAX = 64

/** `at` is where the document itself stands; empty: at the top. */
export function formatPath(at: string, steps: readonly PropertyKey[]): string {
  let text = at
  for (const step of steps) {
    if (typeof step === 'number') text += `[${step}]`
    else text += text === '' ? nameText(String(step)) : `.${nameText(String(step))}`
  }
  return text
}

function nameText(name: string): string {
  return name.length > NAME_MAX ? `${name.slice(0, NAME_MAX)}…` : name
}
