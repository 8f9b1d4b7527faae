/** Importing a locale registers it with cronstrue. */
declare module 'cronstrue/locales/ru'
