/** Words of one language; importing it makes them known to cronstrue. */
declare module 'cronstrue/locales/ru'
