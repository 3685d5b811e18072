// Formats the path of a value in a document, for messages: `nodes[3].properties[0].value`.

/** Names come from the sender of the document and may be very long. */
const NAME_MAX = 64

/** `at`: the path of the document itself; empty at the top. */
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
