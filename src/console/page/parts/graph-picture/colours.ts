// The colours of pictures: the tokens of the style sheet as the canvas takes them, in the theme that is shown.
import { useEffect, useState } from 'preact/hooks'
import { useStore } from '../../store.ts'
import { theme } from '../../theme.ts'
import type { PictureColours } from './paint.ts'

/** Colours of kinds; a picture with more kinds repeats them. */
const KINDS = 10

/** The colour of a kind for the style sheet, by its index. */
export function kindColour(index: number): string {
  return `var(--kind-${index % KINDS})`
}

function readColours(): PictureColours {
  const probe = document.createElement('i')
  document.body.append(probe)
  const read = (token: string): string => {
    probe.style.color = `var(--${token})`
    return getComputedStyle(probe).color
  }
  const colours = {
    surface: read('surface'),
    text: read('text'),
    soft: read('text-soft'),
    line: read('picture-line'),
    accent: read('accent'),
    kinds: Array.from({ length: KINDS }, (_, index) => read(`kind-${index}`)),
  }
  probe.remove()
  return colours
}

/** The colours of the current theme. */
export function usePictureColours(): PictureColours {
  const chosen = useStore(theme)
  const [colours, setColours] = useState(readColours)
  useEffect(() => {
    const update = (): void => setColours(readColours())
    update()
    const system = matchMedia('(prefers-color-scheme: dark)')
    system.addEventListener('change', update)
    return () => system.removeEventListener('change', update)
  }, [chosen])
  return colours
}
