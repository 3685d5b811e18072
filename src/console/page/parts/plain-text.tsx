// A text from outside. Characters that are invisible, or change the direction of what follows, are shown by their code, so that a
// text cannot look like another one. Long texts are cut.
import { useState } from 'preact/hooks'
import { INVISIBLE_CHARACTER } from '../../../kernel/text/invisible-characters.ts'

/** Line feeds and tabs are shown as they are. */
const UNSEEN = new RegExp(`(${INVISIBLE_CHARACTER})`, 'u')

const SHOWN_MAX = 4000

/** `max`: characters to show. `isCut`: the rest cannot be shown, for example in a row of a list. */
export function PlainText(props: { readonly text: string; readonly max?: number; readonly isCut?: boolean }) {
  const { text, max = SHOWN_MAX, isCut = false } = props
  const [isWhole, setWhole] = useState(false)
  const isLong = text.length > max && !isWhole
  const parts = (isLong ? text.slice(0, max) : text).split(UNSEEN)
  return (
    <bdi>
      {parts.map((part, index) =>
        index % 2 === 1 ? (
          <span class="unseen" key={index} title="An invisible character">
            {codeOf(part)}
          </span>
        ) : (
          part
        ),
      )}
      {isLong && '…'}
      {isLong && !isCut && (
        <button type="button" class="quiet" onClick={() => setWhole(true)}>
          Show {(text.length - max).toLocaleString('en')} more characters
        </button>
      )}
    </bdi>
  )
}

function codeOf(character: string): string {
  return `U+${(character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0')}`
}

/** A value as JSON, which may be cut. */
export function JsonText({ value }: { readonly value: unknown }) {
  return (
    <pre class="json-text">
      <code>
        <PlainText text={JSON.stringify(value, null, 2) ?? ''} />
      </code>
    </pre>
  )
}
