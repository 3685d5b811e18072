// Icons as lines of 1.6 px in the colour of the text.

const paths = {
  ask: 'M8 12h8M8 8h5M5 19l-1 3 4-2h9a3 3 0 0 0 3-3V7a3 3 0 0 0-3-3H7a3 3 0 0 0-3 3v9a3 3 0 0 0 1 3z',
  graph:
    'M7 7m-3 0a3 3 0 1 0 6 0a3 3 0 1 0-6 0M17 6m-2 0a2 2 0 1 0 4 0a2 2 0 1 0-4 0M15 18m-3 0a3 3 0 1 0 6 0a3 3 0 1 0-6 0M10 7h5M8.5 9.700l4.7 6M16.6 8l-1 7',
  policies: 'M7 3h7l5 5v13H7a2 2 0 0 1-2-2V5a2 2 0 0 1 2-2zM14 3v5h5M9 13l2 2 4-4',
  steps: 'M4 6h2v-2M4 12h3M4 18h3M11 6h9M11 12h9M11 18h9',
  log: 'M4 5h16M4 10h10M4 15h16M4 20h7',
  operate: 'M4 13h4l2-7 4 13 2-6h4',
  check: 'M5 12.5l4.5 4.5L19 7.5',
  cross: 'M6 6l12 12M18 6L6 18',
  copy: 'M9 9h11v11H9zM5 15H4V4h11v1',
  download: 'M12 4v11M7.5 11l4.5 4.5 4.5-4.5M5 20h14',
  swap: 'M7 7h12l-3-3M17 17H5l3 3',
  sun: 'M12 8a4 4 0 1 0 0 8 4 4 0 1 0 0-8M12 2v2M12 20v2M2 12h2M20 12h2M5 5l1.4 1.400M17.6 17.600L19 19M19 5l-1.4 1.400M6.4 17.600L5 19',
  moon: 'M20 14.5A8.5 8.5 0 0 1 9.5 4a8.5 8.5 0 1 0 10.5 10.5z',
  system: 'M4 5h16v11H4zM9 20h6M12 16v4',
  out: 'M14 4h5v16h-5M10 8l-4 4 4 4M6 12h9',
  search: 'M10.5 4a6.5 6.5 0 1 0 0 13 6.5 6.5 0 1 0 0-13M15.5 15.5L20 20',
  plus: 'M12 5v14M5 12h14',
  minus: 'M5 12h14',
  fit: 'M4 9V4h5M20 9V4h-5M4 15v5h5M20 15v5h-5',
  expand: 'M12 12m-3 0a3 3 0 1 0 6 0a3 3 0 1 0-6 0M12 9V4M12 15v5M9 12H4M15 12h5',
  collapse: 'M12 12m-3 0a3 3 0 1 0 6 0a3 3 0 1 0-6 0M5 5l4 4M19 5l-4 4M5 19l4-4M19 19l-4-4',
  pin: 'M9 4h6l-1 6 3 3H7l3-3zM12 13v7',
  hide: 'M3 3l18 18M10 6.200A9 9 0 0 1 21 12a15 15 0 0 1-2.500 3M6.500 7.500A14 14 0 0 0 3 12a9 9 0 0 0 12.500 5.300M10 10a3 3 0 0 0 4 4',
  back: 'M15 5l-7 7 7 7',
  refresh: 'M20 11a8 8 0 1 0-2 6M20 5v6h-6',
  pause: 'M9 5v14M15 5v14',
  play: 'M7 5l11 7-11 7z',
  shield: 'M12 3l7 3v5c0 5-3 8-7 10-4-2-7-5-7-10V6zM9 12l2 2 4-4',
  send: 'M4 12l16-8-6 16-3-6.500z',
  warning: 'M12 4l9 16H3zM12 10v4M12 17v.5',
} as const

/** The name of an icon. */
export type IconName = keyof typeof paths

/** An icon without meaning of its own: next to a text, or in a button with a label. */
export function Icon({ name }: { readonly name: IconName }) {
  return (
    <svg class="icon" viewBox="0 0 24 24" aria-hidden="true">
      <path d={paths[name]} />
    </svg>
  )
}
