// A button that copies a text.
import { useEffect, useState } from 'preact/hooks'
import { Icon } from './icon.tsx'

const SHOWN_MS = 1500

/** `label`: the name of the button, such as `Copy the curl command`. */
export function CopyButton({ text, label }: { readonly text: string; readonly label: string }) {
  const [state, setState] = useState<'idle' | 'copied' | 'failed'>('idle')
  useEffect(() => {
    if (state === 'idle') return
    const timer = setTimeout(() => setState('idle'), SHOWN_MS)
    return () => clearTimeout(timer)
  }, [state])
  const copy = (): void => {
    // Absent if the page was opened by plain http from another machine.
    const written = navigator.clipboard?.writeText(text) ?? Promise.reject(new Error('no clipboard'))
    written.then(
      () => setState('copied'),
      () => setState('failed'),
    )
  }
  return (
    <button type="button" class="quiet copy" aria-label={label} title={label} onClick={copy}>
      <Icon name={state === 'copied' ? 'check' : state === 'failed' ? 'cross' : 'copy'} />
      <span role="status">{state === 'copied' ? 'Copied' : state === 'failed' ? 'Select and copy it' : 'Copy'}</span>
    </button>
  )
}
