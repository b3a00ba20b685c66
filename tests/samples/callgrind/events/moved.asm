
/build/toy:     file format elf64-x86-64


Disassembly of section .text:

0000000000001330 <_Z5countj.constprop.0>:
    1330:	lea    0x3dc9(%rip),%rax        # 5100 <_ZL6values>
    1337:	movdqa 0xd51(%rip),%xmm2        # 2090 <_IO_stdin_used+0x90>
    133f:	pxor   %xmm0,%xmm0
    1343:	lea    0x1000(%rax),%rdx
    134a:	nopw   0x0(%rax,%rax,1)
    1350:	movdqa %xmm2,%xmm1
    1354:	add    $0x10,%rax
    1358:	pcmpeqd -0x10(%rax),%xmm1
    135d:	psubd  %xmm1,%xmm0
    1361:	cmp    %rax,%rdx
    1364:	jne    1350 <_Z5countj.constprop.0+0x20>
    1366:	movdqa %xmm0,%xmm1
    136a:	psrldq $0x8,%xmm1
    136f:	paddd  %xmm1,%xmm0
    1373:	movdqa %xmm0,%xmm1
    1377:	psrldq $0x4,%xmm1
    137c:	paddd  %xmm1,%xmm0
    1380:	movd   %xmm0,%eax
    1384:	ret

/build/toy:     file format elf64-x86-64


Disassembly of section .text:

0000000000001300 <_Z6followj.constprop.0>:
    1300:	xor    %edx,%edx
    1302:	mov    $0x3,%eax
    1307:	lea    0x2db6(%rip),%rcx        # 40c4 <moved>
    130e:	xchg   %ax,%ax
    1310:	mov    (%rcx,%rax,4),%esi
    1313:	add    %edx,%esi
    1315:	add    $0x1,%edx
    1318:	mov    %esi,%eax
    131a:	and    $0x3ff,%eax
    131f:	cmp    $0xc8,%edx
    1325:	jne    1310 <_Z6followj.constprop.0+0x10>
    1327:	ret
