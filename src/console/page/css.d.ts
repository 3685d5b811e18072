// The bundler makes files of imported style sheets.
declare module '*.css'
