// Shows the difference of two texts; the library that finds it is a chunk of its own.
import type { ComponentType } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { Loading } from './feedback.tsx'

interface DifferenceProps {
  readonly label: string
  readonly before: string
  readonly after: string
}

/** `label`: names the two texts. */
export function Difference(props: DifferenceProps) {
  const [View, setView] = useState<ComponentType<DifferenceProps> | null>(null)
  useEffect(() => {
    import('./text-difference.tsx').then(({ default: loaded }) => setView(() => loaded))
  }, [])
  return View === null ? <Loading label="Comparing" /> : <View {...props} />
}
